"""Which column of a spreadsheet is what, by the words of its header and by what stands below. Pure.

Only a proposal: the page shows it, and a person can choose other columns.
"""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from malipo.payments.batches.spreadsheet.repaired_cells import Quality, amount_cell, channel_cell, phone_cell

MOST_HEADER_ROWS = 30
_LEAST_SHARE = 0.6  # of a column's cells, where only these say what it is
_SAMPLE_ROWS = 50
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NOT_LETTERS = re.compile(r"[^a-z0-9]+")
_LETTERS = re.compile(r"[^\W\d_]{2}")


class SheetColumn(StrEnum):
    PHONE = "phone"
    AMOUNT = "amount"
    CHANNEL = "channel"
    NAME = "name"
    MIDDLE_NAME = "middle_name"
    LAST_NAME = "last_name"
    DESCRIPTION = "description"
    ORDER_REFERENCE = "order_reference"


NEEDED = (SheetColumn.PHONE, SheetColumn.AMOUNT)

# Words of headers, English and Kiswahili. Of one column, the first that claims a header has it, the better word first:
# an employer's file has a gross salary and a net one, and the net one is paid out.
_WORDS: dict[SheetColumn, tuple[str, ...]] = {
    SheetColumn.CHANNEL: (r"network|channel|mtandao|\bmno\b|telco|carrier", r"operator|provider|mobile money"),
    SheetColumn.PHONE: (r"phone|msisdn|\bsimu\b", r"mobile|\btel\b|\bcell\b|contact|m ?pesa (number|no|num)\b"),
    SheetColumn.AMOUNT: (
        r"^(amount|kiasi)\b|\bamount to (pay|send)|kiasi cha kulipa",
        r"\bnet\b|take home|mshahara halisi",
        r"amount|kiasi",
        r"salary|mshahara|wage|payout|payment|\bpay\b|malipo|fedha|\btzs\b|\btshs?\b|value|\bsum\b",
    ),
    SheetColumn.LAST_NAME: (r"last name|surname|family name|jina la (mwisho|ukoo)",),
    SheetColumn.MIDDLE_NAME: (r"middle name|jina la (kati|baba)",),
    SheetColumn.NAME: (
        r"(full|recipient|employee|staff|customer|beneficiary|account) name|jina kamili",
        r"\bnames?\b|\bjina\b|\bmajina\b",
        r"^(recipient|employee|staff|beneficiary|payee|mfanyakazi|mpokeaji|mlipwaji)$",
    ),
    SheetColumn.ORDER_REFERENCE: (
        r"reference|\bref\b|kumbukumbu|\bkumb\b",
        r"(employee|staff|payroll|check|invoice|order|member|mfanyakazi|ankara)\b.*\b(number|no|num|id|code)\b",
        r"(namba|nambari) ya (mfanyakazi|ankara|oda)|\binvoice\b|\border\b",
    ),
    SheetColumn.DESCRIPTION: (
        r"description|maelezo",
        r"reason|purpose|narration|remark|detail|comment|\bnotes?\b|sababu",
    ),
}


def folded(header: str) -> str:
    """A header without the differences between files: case, dots, and capitals within a word (recipientPhone)."""
    return _NOT_LETTERS.sub(" ", _CAMEL.sub(" ", header.strip()).casefold()).strip()


def find_header(rows: Sequence[Sequence[str]]) -> int | None:
    """Where the header stands; None if the file has none. A title above it is not one."""

    def score(row: Sequence[str]) -> int:
        if any(phone_cell(cell).quality is Quality.GOOD for cell in row):
            return 0  # A line of the table itself.
        return len(_by_words(row, ()))

    scores = [score(row) for row in rows[:MOST_HEADER_ROWS]]
    best = max(range(len(scores)), key=lambda at: (scores[at], -at), default=None)
    return best if best is not None and scores[best] >= 2 else None


def guess_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[SheetColumn, int]:
    """Guess the columns by the words of the header; what these do not say, by the cells."""
    samples = rows[:_SAMPLE_ROWS]
    found = _by_words(header, samples)
    return found | _by_cells(samples, found)


def _by_words(header: Sequence[str], samples: Sequence[Sequence[str]]) -> dict[SheetColumn, int]:
    names = [folded(each) for each in header]
    found: dict[SheetColumn, int] = {}
    for column, patterns in _WORDS.items():
        free = [number for number in range(len(names)) if number not in found.values() and names[number]]
        candidates = [
            (share == 0, rank, -share, number)
            for rank, pattern in enumerate(patterns)
            for number in free
            if re.search(pattern, names[number])
            for share in (_share(column, samples, number),)
        ]
        if candidates:
            found[column] = min(candidates)[-1]
    return found


def _by_cells(samples: Sequence[Sequence[str]], found: dict[SheetColumn, int]) -> dict[SheetColumn, int]:
    """Where two columns could be the amount, neither is taken: a serial number is one too."""
    width = max((len(row) for row in samples), default=0)
    added: dict[SheetColumn, int] = {}
    for column in (SheetColumn.PHONE, SheetColumn.CHANNEL, SheetColumn.AMOUNT, *([] if found else [SheetColumn.NAME])):
        if column in found:
            continue
        taken = {*found.values(), *added.values()}
        fitting = [each for each in range(width) if each not in taken and _share(column, samples, each) >= _LEAST_SHARE]
        if len(fitting) == 1 or (fitting and column is not SheetColumn.AMOUNT):
            added[column] = max(fitting, key=lambda number: (_share(column, samples, number), -number))
    return added


def _share(column: SheetColumn, samples: Sequence[Sequence[str]], number: int) -> float:
    """The share of the filled cells that can be read as this."""
    cells = [row[number] for row in samples if number < len(row) and row[number].strip()]
    return sum(_fits(column, each) for each in cells) / len(cells) if cells else 0.0


def _fits(column: SheetColumn, cell: str) -> bool:
    match column:
        case SheetColumn.PHONE:
            return phone_cell(cell).quality is not Quality.WRONG
        case SheetColumn.AMOUNT:
            # A phone number can be read as an amount too.
            return amount_cell(cell).quality is not Quality.WRONG and phone_cell(cell).quality is Quality.WRONG
        case SheetColumn.CHANNEL:
            return channel_cell(cell) is not None
        case SheetColumn.NAME:
            return _LETTERS.search(cell) is not None and channel_cell(cell) is None
        case _:
            return True


def delimiter_score(rows: Iterable[Sequence[str]]) -> tuple[int, int]:
    """How much the rows look like a table, where it is not known what parts their cells."""
    few = list(rows)[:_SAMPLE_ROWS]
    header = find_header(few)
    known = 0 if header is None else len(_by_words(few[header], ()))
    counts = [len(row) for row in few if any(cell.strip() for cell in row)]
    usual = max(set(counts), key=counts.count) if counts else 0
    return known, 0 if usual < 2 else counts.count(usual) * usual

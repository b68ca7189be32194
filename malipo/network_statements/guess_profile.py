"""Guesses how a file that no profile fits is to be read. Only a proposal, which a person confirms. Pure."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from malipo.network_statements.cell_values import DECIMAL_MARKS, TIME_FORMATS, CellUnreadable, cents_of, text_of, times
from malipo.network_statements.profile import DONE, FAILED, SignRule, StatementField, folded
from malipo.table_files.rows import Cell

# Words of headers, the most specific first. A column is taken by the first field that claims it.
_WORDS: dict[StatementField, str] = {
    StatementField.LINKED: r"linked|original",
    StatementField.PAID_IN: r"paid in|money in|credit amount|^credit$|deposit",
    StatementField.WITHDRAWN: r"withdrawn|paid out|money out|debit amount|^debit$|withdrawal",
    StatementField.BALANCE: r"balance",
    StatementField.DIRECTION: r"credit/debit|dr ?/? ?cr|cr ?/? ?dr|direction|entry",
    StatementField.STATUS: r"status|result",
    StatementField.AT: r"completion|date|time|created|posted",
    StatementField.KEY: r"a/c no|account no|order|merchant ref|external|your ref|our ref|^reference",
    StatementField.RECEIPT: r"receipt|transaction id|transation id|txn|trans id|^id$|reference",
    StatementField.PARTY: r"msisdn|phone|party|payer|payee|customer|sender|receiver",
    StatementField.REASON: r"reason|^type$|transaction type|service",
    StatementField.DETAILS: r"details|description|narration|remarks",
    StatementField.AMOUNT: r"amount|value",
}
_FIELDS_OF_AMOUNTS = (StatementField.PAID_IN, StatementField.WITHDRAWN, StatementField.AMOUNT, StatementField.BALANCE)
_MONEY_IN = re.compile(r"cr|credit|in|received", re.IGNORECASE)
_MONEY_OUT = re.compile(r"dr|debit|out|sent|paid", re.IGNORECASE)


@dataclass(frozen=True)
class Guess:
    header: list[str]
    columns: dict[StatementField, int]
    sign: SignRule | None  # None: there is no column with an amount
    time_format: str | None
    money_in: tuple[str, ...] = ()
    money_out: tuple[str, ...] = ()
    decimal_mark: str = "."
    moved: tuple[str, ...] = ()  # words of the status column
    not_moved: tuple[str, ...] = ()
    carrier: str = ""  # the aggregator whose account it is; none: the network's own

    @property
    def missing(self) -> list[StatementField]:
        """The parts of the layout that only a person can fill in."""
        needed = [StatementField.RECEIPT, StatementField.AT, *([StatementField.AMOUNT] if self.sign is None else [])]
        return [field for field in needed if field not in self.columns]


def guess(rows: Sequence[list[Cell]]) -> Guess | None:
    """Guess the layout from the first rows of a file; None if they are no table."""
    start = _header_row(rows)
    if start is None:
        return None
    header = [text_of(cell) for cell in rows[start]]
    samples = [row for row in rows[start + 1 :] if any(text_of(cell) for cell in row)]
    # The first mark by which the columns of amounts can be read; as it was, if none fits.
    columns, decimal_mark = max(
        ((_by_words(header, samples, mark), mark) for mark in DECIMAL_MARKS),
        key=lambda each: sum(field in each[0] for field in _FIELDS_OF_AMOUNTS),
    )
    at = columns.get(StatementField.AT)
    time_format = None if at is None else _time_format([_at(row, at) for row in samples])
    money_in, money_out = _directions(samples, columns.get(StatementField.DIRECTION))
    sign = _sign(columns, bool(money_in or money_out))
    return Guess(
        header,
        columns,
        sign,
        time_format,
        money_in,
        money_out,
        decimal_mark,
        *((DONE, FAILED) if StatementField.STATUS in columns else ((), ())),
    )


def _header_row(rows: Sequence[list[Cell]]) -> int | None:
    """The row in which most cells are words that headers have, and at least three."""

    def known(row: list[Cell]) -> int:
        names = [folded(text_of(cell)) for cell in row]
        return sum(1 for name in names if name and any(re.search(words, name) for words in _WORDS.values()))

    best = max(range(len(rows)), key=lambda number: (known(rows[number]), -number), default=None)
    return best if best is not None and known(rows[best]) >= 3 else None


def _by_words(header: list[str], samples: list[list[Cell]], decimal_mark: str) -> dict[StatementField, int]:
    """The column of a field by its name, and only if what stands in it fits."""
    columns: dict[StatementField, int] = {}
    for field, words in _WORDS.items():
        for number, name in enumerate(header):
            if number in columns.values() or not re.search(words, folded(name)):
                continue
            values = [cell for row in samples if text_of(cell := _at(row, number))]
            if _fits(field, values, decimal_mark):
                columns[field] = number
                break
    return columns


def _fits(field: StatementField, values: list[Cell], decimal_mark: str) -> bool:
    if field in _FIELDS_OF_AMOUNTS:
        return all(_is_read(lambda cell: cents_of(cell, decimal_mark), value) for value in values)
    if field is StatementField.AT:
        return bool(values) and _time_format(values) is not None
    return True


def _time_format(values: list[Cell]) -> str | None:
    """The format that reads every value. If a number could be a day or a month, the day is first, as in Tanzania."""
    return next(
        (each for each in TIME_FORMATS if all(_is_read(times((each,), "UTC"), value) for value in values)),
        None,
    )


def _sign(columns: dict[StatementField, int], has_directions: bool) -> SignRule | None:
    if StatementField.PAID_IN in columns and StatementField.WITHDRAWN in columns:
        return SignRule.TWO_COLUMNS
    if StatementField.AMOUNT not in columns:
        return None
    return SignRule.DIRECTION if StatementField.DIRECTION in columns and has_directions else SignRule.SIGNED


def _directions(samples: list[list[Cell]], column: int | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words for either way, as they stand in the file."""
    if column is None:
        return (), ()
    words = list(dict.fromkeys(text_of(_at(row, column)) for row in samples))
    money_in = tuple(each for each in words if _MONEY_IN.fullmatch(each))
    return money_in, tuple(each for each in words if _MONEY_OUT.fullmatch(each))


def _at(row: list[Cell], column: int) -> Cell:
    return row[column] if column < len(row) else None


def _is_read(read: Callable[[Cell], object], value: Cell) -> bool:
    try:
        read(value)
    except CellUnreadable:
        return False
    return True

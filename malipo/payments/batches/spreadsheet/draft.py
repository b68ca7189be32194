"""A spreadsheet that somebody has sent and not submitted yet, with what they have mended. Pure."""

from collections.abc import Collection, Mapping
from datetime import datetime

import msgspec
from msgspec.structs import replace

from malipo.payments.batches.spreadsheet.columns import NEEDED, SheetColumn
from malipo.payments.batches.spreadsheet.read_sheet import PayoutSheet, rechosen, total_of
from malipo.payments.batches.spreadsheet.spreadsheet_line import FIELDS, SpreadsheetLine, lines_of
from malipo.payments.payment_request import Terms


class Edits(msgspec.Struct, frozen=True):
    """What was typed instead, by row and field, and which rows are not to be paid; and whose numbers they are."""

    typed: dict[int, dict[str, str]] = {}
    left_out: frozenset[int] = frozenset()
    # As networks have them, by network and number; None: the network was asked, and said nothing.
    names: dict[str, str | None] = {}


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    merchant_id: str
    person: str
    filename: str
    sheet: PayoutSheet
    edits: Edits
    created_at: datetime
    batch_id: str | None = None

    @property
    def key(self) -> str:
        """The idempotency key of its batch: however often it is submitted, it is one."""
        return f"dashboard-{self.id}"

    @property
    def missing_columns(self) -> list[SheetColumn]:
        """What only a person can say."""
        return [each for each in NEEDED if each not in self.sheet.columns]

    def lines(self, terms: Terms) -> list[SpreadsheetLine]:
        """Those that are to be paid."""
        return [each for each in lines_of(self.sheet, self.edits.typed, terms) if each.row not in self.edits.left_out]

    @property
    def total(self) -> int | None:
        """The sum that the file itself gives, if it does; the last, where there are sums of parts too."""
        return total_of(self.sheet.totals[-1], self.sheet.columns) if self.sheet.totals else None


def mended(draft: Draft, typed: Mapping[int, Mapping[str, str]], left_out: Collection[int]) -> Draft:
    """With what was typed for these rows. Rows that the file does not have are passed over."""
    rows = {each.number for each in draft.sheet.rows}
    after = {row: dict(fields) for row, fields in draft.edits.typed.items()}
    for row, fields in typed.items():
        known = {name: text for name, text in fields.items() if name in FIELDS}
        if row in rows and known:
            after[row] = after.get(row, {}) | known
    out = draft.edits.left_out | (rows & set(left_out))
    return replace(draft, edits=Edits(after, out, draft.edits.names))


def brought_back(draft: Draft, row: int) -> Draft:
    """A row that was left out is paid after all."""
    return replace(draft, edits=replace(draft.edits, left_out=draft.edits.left_out - {row}))


def with_columns(draft: Draft, columns: Mapping[SheetColumn, int]) -> Draft:
    """With other columns. What was mended was read from the old ones, so it is dropped."""
    return replace(draft, sheet=rechosen(draft.sheet, columns), edits=Edits(names=draft.edits.names))


def number_of(line: SpreadsheetLine) -> str:
    """What a name is known by: the network and the number."""
    return f"{line.values.get('channel')} {line.values.get('recipientPhone')}"


def with_names(draft: Draft, names: Mapping[str, str | None]) -> Draft:
    return replace(draft, edits=replace(draft.edits, names={**draft.edits.names, **names}))


def with_batch(draft: Draft, batch_id: str) -> Draft:
    """It was submitted."""
    return replace(draft, batch_id=batch_id)

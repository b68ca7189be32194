"""A batch draft: payouts that a person uploaded as a spreadsheet and has not submitted, with their corrections. Pure.

The failed payouts of a batch that are to be paid again are a draft too, so that each is looked at and approved like any
other.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from malipo.payments.batches.batch import BatchItem
from malipo.payments.batches.spreadsheet.columns import NEEDED, SheetColumn
from malipo.payments.batches.spreadsheet.read_sheet import PayoutSheet, SheetRow, rechosen, total_of
from malipo.payments.batches.spreadsheet.spreadsheet_line import FIELDS, SpreadsheetLine, keep_choice, lines_of
from malipo.payments.payment_request import PaymentTerms

_AGAIN_KEY = re.compile(r"dashboard-again-(bat_[0-9a-z]{26})-[0-9]{1,6}")


class Again(msgspec.Struct, frozen=True):
    """The batch of which these are the failed payouts, and which attempt this is."""

    batch_id: str
    attempt: int  # from 1; the next one only after the batch of this one was cancelled

    @property
    def key(self) -> str:
        return f"dashboard-again-{self.batch_id}-{self.attempt}"


def failed_batch_in(key: str) -> str | None:
    """The id of the batch whose failed payouts this idempotency key pays again; None if it is another kind of key."""
    found = _AGAIN_KEY.fullmatch(key)
    return None if found is None else found[1]


class Edits(msgspec.Struct, frozen=True):
    """The edits of a draft: typed values by row and field, rows that are left out, and the names of the account
    holders."""

    typed: dict[int, dict[str, str]] = {}
    left_out: frozenset[int] = frozenset()
    # Names that networks have on file, by network and number; None: the network was queried and reported no name.
    names: dict[str, str | None] = {}
    unregistered: frozenset[str] = frozenset()  # of these, the numbers without an account there
    barred: frozenset[str] = frozenset()  # of these, the numbers whose account cannot receive money
    again: Again | None = None


class BatchDraft(msgspec.Struct, frozen=True, kw_only=True):
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
        """The idempotency key of its batch, so that a draft that is submitted twice makes one batch.

        All drafts of the failed payouts of a batch have the same key, so these are paid again once.
        """
        return f"dashboard-{self.id}" if self.edits.again is None else self.edits.again.key

    @property
    def missing_columns(self) -> list[SheetColumn]:
        """The columns that the header does not name: a person must choose them."""
        return [each for each in NEEDED if each not in self.sheet.columns]

    def lines(self, terms: PaymentTerms) -> list[SpreadsheetLine]:
        """The lines to be paid."""
        return self.split_lines(terms)[0]

    def split_lines(self, terms: PaymentTerms) -> tuple[list[SpreadsheetLine], list[SpreadsheetLine]]:
        """The lines to be paid, and the lines that are left out."""
        lines, left_out = lines_of(self.sheet, self.edits.typed, terms), self.edits.left_out
        return [each for each in lines if each.row not in left_out], [each for each in lines if each.row in left_out]

    @property
    def total(self) -> int | None:
        """The total that the file itself states, if it does. If it also has subtotals, the last one."""
        return total_of(self.sheet.totals[-1], self.sheet.columns) if self.sheet.totals else None


def with_fixes(draft: BatchDraft, typed: Mapping[int, Mapping[str, str]], left_out: Collection[int]) -> BatchDraft:
    """The draft with the values typed for these rows. Rows that the file does not have are ignored."""
    rows = {each.number: each for each in draft.sheet.rows}
    after = {row: dict(fields) for row, fields in draft.edits.typed.items()}
    for row, fields in typed.items():
        known = {name: text for name, text in fields.items() if name in FIELDS}
        if row in rows and known:
            before = after.get(row, {})
            after[row] = {**before, **keep_choice(rows[row], draft.sheet.columns, before, known)}
    out = draft.edits.left_out | (rows.keys() & set(left_out))
    return replace(draft, edits=replace(draft.edits, typed=after, left_out=out))


def brought_back(draft: BatchDraft, row: int) -> BatchDraft:
    """The draft with a row that was left out and is to be paid after all."""
    return replace(draft, edits=replace(draft.edits, left_out=draft.edits.left_out - {row}))


def with_columns(draft: BatchDraft, columns: Mapping[SheetColumn, int]) -> BatchDraft:
    """The draft with other columns. Its edits are dropped, because they were made for the old ones."""
    return replace(
        draft, sheet=rechosen(draft.sheet, columns), edits=replace(draft.edits, typed={}, left_out=frozenset())
    )


def number_of(line: SpreadsheetLine) -> str:
    """The key of a name: the network and the number."""
    return f"{line.values.get('channel')} {line.values.get('recipientPhone')}"


def with_names(
    draft: BatchDraft,
    names: Mapping[str, str | None],
    *,
    unregistered: Collection[str] = (),
    barred: Collection[str] = (),
) -> BatchDraft:
    edits = draft.edits
    return replace(
        draft,
        edits=replace(
            edits,
            names={**edits.names, **names},
            unregistered=edits.unregistered | set(unregistered),
            barred=edits.barred | set(barred),
        ),
    )


_AGAIN_COLUMNS = {
    SheetColumn.NAME: "recipientName",
    SheetColumn.PHONE: "recipientPhone",
    SheetColumn.CHANNEL: "channel",
    SheetColumn.AMOUNT: "amount",
    SheetColumn.DESCRIPTION: "description",
    SheetColumn.ORDER_REFERENCE: "orderReference",
}


def sheet_of(items: Sequence[BatchItem]) -> PayoutSheet:
    """Items of a batch as the rows of a sheet; each has the number that it has in its batch."""
    rows = [
        SheetRow(
            item.index + 1,
            [item.name, item.phone, item.channel, str(item.amount), item.description, item.order_reference or ""],
        )
        for item in items
    ]
    return PayoutSheet(list(_AGAIN_COLUMNS.values()), rows, {column: at for at, column in enumerate(_AGAIN_COLUMNS)})


def with_batch(draft: BatchDraft, batch_id: str) -> BatchDraft:
    """The draft, submitted as this batch."""
    return replace(draft, batch_id=batch_id)

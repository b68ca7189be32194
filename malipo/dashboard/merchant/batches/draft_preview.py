"""The preview of a batch draft: its lines, their problems and warnings, and its sums."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import msgspec

from malipo.dashboard.merchant.batches.line_names import differs
from malipo.db import Conn
from malipo.ledger.store import wallets
from malipo.ledger.wallet import Wallet
from malipo.networks.connector import Channel
from malipo.payments.batches import duplicate_warnings
from malipo.payments.batches.batch import BatchItem, BatchWarning
from malipo.payments.batches.spreadsheet.draft import BatchDraft, number_of
from malipo.payments.batches.spreadsheet.spreadsheet_line import SpreadsheetLine
from malipo.payments.fees import fee_of
from malipo.payments.store import tariffs
from malipo.payments.transaction import Type


class Tab(StrEnum):
    PROBLEMS = "problems"
    WARNINGS = "warnings"
    REPAIRED = "repaired"
    CHANGED = "changed"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class DraftPreview:
    draft: BatchDraft
    lines: Sequence[SpreadsheetLine]
    left_out: Sequence[SpreadsheetLine]
    warnings: Mapping[int, Sequence[BatchWarning]]  # by row
    rows: Sequence[int]  # of the lines without problems, by which warnings name each other
    fee: int
    wallet: Wallet

    @property
    def amount(self) -> int:
        return sum(each.amount for each in self.lines)

    @property
    def left_out_amount(self) -> int:
        return sum(each.amount for each in self.left_out)

    @property
    def sum_in_file(self) -> int | None:
        """The sum that the file has, if it differs from the sum to be paid."""
        total = self.draft.total
        return None if total == self.amount else total

    @property
    def is_sum_explained(self) -> bool:
        """Whether the lines that are left out are all that differs from the file's own sum."""
        return self.draft.total == self.amount + self.left_out_amount

    @property
    def has_problems(self) -> bool:
        return any(each.problems for each in self.lines)

    @property
    def has_warnings(self) -> bool:
        return bool(self.of(Tab.WARNINGS)) or (self.sum_in_file is not None and not self.is_sum_explained)

    @property
    def seen(self) -> str:
        """A fingerprint of what the person has looked at. The form of submitting names it, so that nothing else is
        submitted."""
        values = msgspec.json.encode([[each.row, each.values] for each in self.lines])
        return hashlib.sha256(values).hexdigest()[:16]

    def of(self, tab: Tab) -> list[SpreadsheetLine]:
        match tab:
            case Tab.PROBLEMS:
                return [each for each in self.lines if each.problems]
            case Tab.WARNINGS:
                return [each for each in self.lines if self._is_warned(each)]
            case Tab.REPAIRED:
                return [each for each in self.lines if each.is_repaired]
            case Tab.CHANGED:
                return [each for each in self.lines if each.is_changed]
            case Tab.ALL:
                return list(self.lines)

    def _is_warned(self, line: SpreadsheetLine) -> bool:
        return (
            line.row in self.warnings
            or line.usual_channel is not None
            or self.has_other_name(line)
            or self.is_unregistered(line)
            or self.is_barred(line)
        )

    def name_found(self, line: SpreadsheetLine) -> str | None:
        """The name that the network has for the number, if the network was queried."""
        return self.draft.edits.names.get(number_of(line))

    def is_unregistered(self, line: SpreadsheetLine) -> bool:
        """Whether the network reported that the number has no account."""
        return number_of(line) in self.draft.edits.unregistered

    def is_barred(self, line: SpreadsheetLine) -> bool:
        return number_of(line) in self.draft.edits.barred

    def has_other_name(self, line: SpreadsheetLine) -> bool:
        return differs(line.typed["name"], self.name_found(line))

    def count(self, tab: Tab) -> int:
        return len(self.of(tab))


async def look(
    connection: Conn,
    draft: BatchDraft,
    lines: Sequence[SpreadsheetLine],
    left_out: Sequence[SpreadsheetLine],
    now: datetime,
) -> DraftPreview:
    right = [each for each in lines if not each.problems]
    items = [item_of(index, each) for index, each in enumerate(right)]
    found: dict[int, list[BatchWarning]] = defaultdict(list)
    for warning in await duplicate_warnings.find(connection, draft.merchant_id, items, now=now):
        found[right[warning.index].row].append(warning)
    wallet, _ = await wallets.get(connection, draft.merchant_id)
    fee = await _fee(connection, draft.merchant_id, items)
    return DraftPreview(draft, lines, left_out, found, [each.row for each in right], fee, wallet)


async def _fee(connection: Conn, merchant_id: str, items: Sequence[BatchItem]) -> int:
    places = {each.channel: (merchant_id, Type.DISBURSEMENT, str(each.channel)) for each in items}
    bands = await tariffs.find_for(connection, set(places.values()))
    return sum(fee_of(each.amount, bands.get(places[each.channel], ())) for each in items)


def item_of(index: int, line: SpreadsheetLine) -> BatchItem:
    """The item for a line without problems, with the fields that warnings and fees need."""
    return BatchItem(
        index=index,
        channel=Channel(str(line.values["channel"])),
        amount=line.amount,
        fee=0,
        phone=str(line.values["recipientPhone"]),
    )

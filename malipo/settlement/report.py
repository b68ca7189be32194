"""The report of a settlement: every line of the wallet's statement after the debit of the settlement before it, up to
its own. Pure.

What is written here never changes: a line is counted by what it was when it was written. For each line, and so for each
sum, net = gross − fee; and closing = opening + net. Each line belongs to exactly one settlement.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from malipo import clock
from malipo.settlement.settlement import Settlement


class ReportGroup(StrEnum):
    COLLECTION = "COLLECTION"
    PAYOUT = "PAYOUT"  # taken for payouts
    PAYOUT_RETURNED = "PAYOUT_RETURNED"  # given back of payouts that did not happen
    REFUND = "REFUND"
    REFUND_RETURNED = "REFUND_RETURNED"
    TOP_UP = "TOP_UP"
    CORRECTION = "CORRECTION"
    SETTLEMENT_BOOKED = "SETTLEMENT_BOOKED"  # by operators, without a settlement
    SETTLEMENT_RETURNED = "SETTLEMENT_RETURNED"  # of settlements before
    SETTLEMENT = "SETTLEMENT"  # this one


class ReportSum(msgspec.Struct, frozen=True):
    group: ReportGroup
    count: int
    gross: int
    fee: int
    net: int


class ReportLine(msgspec.Struct, frozen=True):
    number: int
    group: ReportGroup
    gross: int
    fee: int
    net: int
    balance: int
    cause_id: str
    reference: str
    order_reference: str
    at: datetime


class Report(msgspec.Struct, frozen=True):
    settlement: Settlement
    first_line: int
    last_line: int
    opening: int
    closing: int  # what stays
    sums: Sequence[ReportSum]  # of the groups that have lines, in the order of the groups

    @property
    def line_count(self) -> int:
        return self.last_line - self.first_line + 1

    @property
    def adds_up(self) -> bool:
        is_whole = sum(each.count for each in self.sums) == self.line_count
        return is_whole and self.opening + sum(each.net for each in self.sums) == self.closing


COLUMNS = (
    "line",
    "group",
    "gross",
    "fee",
    "net",
    "balanceAfter",
    "causeId",
    "reference",
    "orderReference",
    "createdAt",
)


def row_of(line: ReportLine) -> tuple[int | str, ...]:
    """A line as a row of the file, under COLUMNS."""
    return (
        line.number,
        line.group,
        line.gross,
        line.fee,
        line.net,
        line.balance,
        line.cause_id,
        line.reference,
        line.order_reference,
        clock.iso(line.at),
    )


def view(report: Report) -> dict[str, object]:
    """The JSON of a report, without its lines."""
    shown: dict[str, object] = {
        "settlementId": report.settlement.id,
        "reference": report.settlement.reference,
        "firstLine": report.first_line,
        "lastLine": report.last_line,
        "opening": report.opening,
        "groups": [msgspec.structs.asdict(each) for each in report.sums],
        "closing": report.closing,
    }
    if report.settlement.bank_reference is not None:
        shown["bankReference"] = report.settlement.bank_reference
    return shown

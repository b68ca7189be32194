"""A merchant's statement of a period, for accounting: each line with gross, fee, net, and the amount only set aside.
Pure. The API's statement, without these columns, is `statement.py`.

For each line, and so for each sum: net = gross - fee + set aside, and closing = opening + net.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from malipo.ledger.statement import WalletLineKind


class LineGroup(StrEnum):
    """The group of a line. It can change when a payout ends; the line's change of the wallet cannot."""

    COLLECTION = "COLLECTION"
    PAYOUT = "PAYOUT"  # a paid payout
    REFUND = "REFUND"  # a paid refund
    SET_ASIDE = "SET_ASIDE"  # for a payout or refund that has not ended
    NOT_PAID = "NOT_PAID"  # set aside for an unpaid payout or refund, or returned from it
    TOP_UP = "TOP_UP"
    SETTLEMENT = "SETTLEMENT"
    CORRECTION = "CORRECTION"


_ONLY_SET_ASIDE = (LineGroup.SET_ASIDE, LineGroup.NOT_PAID)
_GROUPS = {
    WalletLineKind.COLLECTION: LineGroup.COLLECTION,
    WalletLineKind.PAYOUT_RETURNED: LineGroup.NOT_PAID,
    WalletLineKind.TOP_UP: LineGroup.TOP_UP,
    WalletLineKind.SETTLEMENT: LineGroup.SETTLEMENT,
    WalletLineKind.SETTLEMENT_RETURNED: LineGroup.SETTLEMENT,
    WalletLineKind.CORRECTION_CREDIT: LineGroup.CORRECTION,
    WalletLineKind.CORRECTION_DEBIT: LineGroup.CORRECTION,
}
_PAID = "COMPLETED"
_NOT_PAID = ("FAILED", "CANCELLED")


@dataclass(frozen=True, slots=True)
class LinePayment:
    """The payment that caused a line."""

    status: str
    amount: int
    fee: int
    is_collection: bool
    phone: str
    name: str
    channel: str
    receipt: str | None
    order_reference: str | None
    refund_of: str | None


@dataclass(frozen=True, slots=True)
class PeriodLine:
    number: int
    kind: WalletLineKind
    net: int  # the change of the wallet
    balance: int  # of the wallet, after this line
    cause_id: str
    reference: str  # the payment's, the settlement's, or the bank's
    at: datetime
    payment: LinePayment | None  # None for a booking or a settlement

    @property
    def group(self) -> LineGroup:
        if self.kind is not WalletLineKind.PAYOUT:
            return _GROUPS[self.kind]
        assert self.payment is not None, "a payout has a payment"
        if self.payment.status == _PAID:
            return LineGroup.REFUND if self.is_refund else LineGroup.PAYOUT
        return LineGroup.NOT_PAID if self.payment.status in _NOT_PAID else LineGroup.SET_ASIDE

    @property
    def is_refund(self) -> bool:
        return self.payment is not None and self.payment.refund_of is not None

    @property
    def set_aside(self) -> int:
        """Neither income nor expense: minus the money set aside for a payout, plus what came back of it."""
        return self.net if self.group in _ONLY_SET_ASIDE else 0

    @property
    def gross(self) -> int:
        return self.net + self.fee - self.set_aside

    @property
    def fee(self) -> int:
        """The fee; negative if a correction returned it."""
        payment, group = self.payment, self.group
        if payment is None or group in _ONLY_SET_ASIDE:
            return 0
        if group is LineGroup.CORRECTION:
            return _fee_of_correction(self.net, payment)
        return payment.fee


def _fee_of_correction(net: int, payment: LinePayment) -> int:
    """The fee in a correction's line: returned or taken if the whole payment is corrected at once; 0 for a debt that is
    collected in parts."""
    whole = payment.amount - payment.fee if payment.is_collection else payment.amount + payment.fee
    if abs(net) != whole:
        return 0
    return payment.fee if (net > 0) == payment.is_collection else -payment.fee


@dataclass(slots=True)
class Sums:
    count: int = 0
    gross: int = 0
    fee: int = 0
    set_aside: int = 0
    net: int = 0
    came: int = 0  # incoming gross amounts
    went: int = 0

    def add(self, line: PeriodLine) -> None:
        self.count += 1
        self.gross += line.gross
        self.fee += line.fee
        self.set_aside += line.set_aside
        self.net += line.net
        self.came += max(line.gross, 0)
        self.went += max(-line.gross, 0)


@dataclass(slots=True)
class PeriodSums:
    """The sums of a period between two balances. Lines are added in their order, oldest first."""

    opening: int
    groups: dict[LineGroup, Sums] = field(default_factory=dict)
    whole: Sums = field(default_factory=Sums)

    @property
    def closing(self) -> int:
        return self.opening + self.whole.net

    def add(self, lines: Iterable[PeriodLine]) -> None:
        for line in lines:
            assert line.balance == self.closing + line.net, "a statement never leaves out a line"
            self.whole.add(line)
            self.groups.setdefault(line.group, Sums()).add(line)

    def by_group(self) -> list[tuple[LineGroup, Sums]]:
        """The sums of the groups that have lines, in the order of the groups."""
        return [(group, self.groups[group]) for group in LineGroup if group in self.groups]

"""An exception of reconciliation: a difference between a statement and our payments. Pure."""

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from enum import StrEnum

import msgspec

from malipo.networks.connector import Channel, Type

ID_PREFIX = "exc_"


def is_exception_id(subject: str) -> bool:
    """Whether the subject of a proposal is an exception, and not a payment: by the prefix of its id."""
    return subject.startswith(ID_PREFIX)


class ExceptionKind(StrEnum):
    OURS_ONLY = "ours_only"  # a payment that no line of complete statements shows
    THEIRS_ONLY = "theirs_only"  # a line that fits no payment and no booking of ours
    AMOUNT_DIFFERS = "amount_differs"  # a line with a payment's receipt or key, and another amount or direction
    STATE_DIFFERS = "state_differs"  # a payment was paid or taken back, and the merchant got another report
    TWICE = "twice"  # a second line of one payment, or a line that fits two payments
    FEE_DIFFERS = "fee_differs"  # the network charged another amount than operators expect
    UNKNOWN_LINE = "unknown_line"  # a line of an unknown kind, or a reversal of no known payment


# The kinds of unmatched lines: the ledger's float lacks their amount.
UNMATCHED_LINE_KINDS = (
    ExceptionKind.THEIRS_ONLY,
    ExceptionKind.AMOUNT_DIFFERS,
    ExceptionKind.TWICE,
    ExceptionKind.UNKNOWN_LINE,
)


class ExceptionState(StrEnum):
    OPEN = "open"
    PROPOSED = "proposed"  # an operator has proposed an action, and another must decide
    RESOLVED = "resolved"


class FoundException(msgspec.Struct, frozen=True, kw_only=True):
    """An exception that matching has found, before it is stored."""

    id: str
    kind: ExceptionKind
    channel: Channel
    account: str = ""
    line_id: int | None = None
    merchant_id: str | None = None
    transaction_id: str | None = None
    amount: int


class Findings:
    """The exceptions that a run has found: their number, and the first ones. There may be too many to read."""

    MOST = 1000

    def __init__(self) -> None:
        self.count = 0
        self.kinds: Counter[ExceptionKind] = Counter()
        self.first: list[FoundException] = []

    def add(self, found: Sequence[FoundException]) -> None:
        self.count += len(found)
        self.kinds.update(each.kind for each in found)
        self._add_first(found)

    def merge(self, other: "Findings") -> None:
        self.count += other.count
        self.kinds.update(other.kinds)
        self._add_first(other.first)

    def _add_first(self, found: Sequence[FoundException]) -> None:
        self.first += found[: max(self.MOST - len(self.first), 0)]


class ReconciliationException(msgspec.Struct, frozen=True, kw_only=True):
    """An exception as it is stored, with its line and its payment, for people to read."""

    id: str
    kind: ExceptionKind
    channel: Channel
    account: str
    amount: int
    found_at: datetime
    state: ExceptionState
    resolved_by: str | None
    resolved_at: datetime | None
    why_resolved: str | None
    line_id: int | None
    receipt: str | None  # of the line
    line_kind: str | None
    line_amount: int | None
    moved_at: datetime | None
    key: str | None
    phone: str | None  # of the line, often masked
    details: str | None
    file_id: str | None
    merchant_id: str | None
    transaction_id: str | None
    reference: str | None  # of the payment
    type: Type | None
    status: str | None
    payment_amount: int | None
    line_cents: int | None = None  # beside line_amount
    linked: str | None = None  # of a reversal: the receipt that it takes back
    followed: int = 0  # the payment's amount in the ledger's float by now, signed as in a statement
    has_line: bool = False  # the payment has a line
    is_payment_line: bool = False  # at least one file that has the line calls it a payment
    owner: str | None = None  # the operator who looks after it
    due_on: date | None = None

    @property
    def moved_cents(self) -> int:
        """The line's amount in cents, signed as in the statement."""
        return (self.line_amount or 0) * 100 + (self.line_cents or 0)

    @property
    def lacking_cents(self) -> int:
        """The part of the line's amount that the ledger's float lacks.

        If the line has another amount than its payment, the float may have followed the payment already. A line in the
        other direction is another movement.
        """
        return self.moved_cents - (self.followed * 100 if self.has_followed else 0)

    @property
    def has_followed(self) -> bool:
        is_followed = self.kind is ExceptionKind.AMOUNT_DIFFERS and self.followed != 0
        return is_followed and ((self.line_amount or 0) > 0) == (self.followed > 0)

    @property
    def cannot_match(self) -> bool:
        """Whether the payment that the line names has another line, or the line went the other way."""
        if self.transaction_id is None or self.line_id is None:
            return False
        return self.has_line or ((self.line_amount or 0) > 0) != (self.type is Type.COLLECTION)

    @property
    def takes_back(self) -> bool:
        """Whether the line is a reversal: by the receipt that it names, not by its words alone."""
        return self.line_kind == "reversal" and bool(self.linked)

    @property
    def is_payout(self) -> bool:
        """Whether the line or the payment is a payout."""
        is_money_out = self.is_payment_line and (self.line_amount or 0) < 0
        return self.type is Type.DISBURSEMENT or is_money_out


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """A payment that a line may be of, and why."""

    merchant_id: str
    transaction_id: str
    reference: str
    type: Type
    status: str
    amount: int
    phone: str
    created_at: datetime
    why: str  # same receipt; same key; same phone and amount within 15 minutes; same amount on the same day


class ExceptionCount(msgspec.Struct, frozen=True, kw_only=True):
    """The number of unresolved exceptions of a kind, a channel and an age, and their sums."""

    kind: ExceptionKind
    channel: Channel
    age: str  # today, week, older: since it was found
    count: int
    difference: int  # statements minus ledger, because of them
    absolute: int  # the sum of their amounts without signs

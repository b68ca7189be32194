"""An exception of reconciliation: where a statement and our payments do not fit, and what operators may do. Pure."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from malipo.networks.connector import Channel, Type

ID_PREFIX = "exc_"


class ExceptionKind(StrEnum):
    OURS_ONLY = "ours_only"  # a payment that complete statements do not have
    THEIRS_ONLY = "theirs_only"  # a line that no payment and no booking of ours fits
    AMOUNT_DIFFERS = "amount_differs"  # a line with a payment's receipt or key, and another amount or direction
    STATE_DIFFERS = "state_differs"  # a payment was paid, or taken back, and we have told the merchant something else
    TWICE = "twice"  # a second line of one payment, or a line that fits two payments
    FEE_DIFFERS = "fee_differs"  # the network charged something else than operators expect
    UNKNOWN_LINE = "unknown_line"  # a line of a kind that we do not know, or a reversal of nothing that we have


# Of lines that have no place: the ledger's float lacks what they moved.
KINDS_WITHOUT_PLACE = (
    ExceptionKind.THEIRS_ONLY,
    ExceptionKind.AMOUNT_DIFFERS,
    ExceptionKind.TWICE,
    ExceptionKind.UNKNOWN_LINE,
)


class ExceptionState(StrEnum):
    OPEN = "open"
    PROPOSED = "proposed"  # an operator has proposed what to do, and another must decide
    RESOLVED = "resolved"


class Action(StrEnum):
    """What operators can do about an exception."""

    MATCH = "match"  # the line is that of this payment
    BOOK = "book"  # the line is booked to an account of the house
    ADOPT = "adopt"  # the line is a payment that we have lost: make it
    RESOLVE = "resolve"  # say what became of the payment
    NOTE = "note"  # write down what was found out, or that it is accepted
    UNDO = "undo"  # reverse what was done


ACTIONS = {
    ExceptionKind.OURS_ONLY: (Action.RESOLVE, Action.NOTE),
    ExceptionKind.THEIRS_ONLY: (Action.MATCH, Action.BOOK, Action.ADOPT, Action.NOTE),
    ExceptionKind.AMOUNT_DIFFERS: (Action.MATCH, Action.BOOK, Action.NOTE),
    ExceptionKind.STATE_DIFFERS: (Action.RESOLVE, Action.NOTE),
    ExceptionKind.TWICE: (Action.MATCH, Action.BOOK, Action.NOTE),
    ExceptionKind.FEE_DIFFERS: (Action.NOTE,),
    ExceptionKind.UNKNOWN_LINE: (Action.MATCH, Action.BOOK, Action.ADOPT, Action.NOTE),
}
# A note resolves these: nothing of them is missing in the ledger. Others stay open until their amount is matched or
# booked.
RESOLVED_BY_NOTE = (ExceptionKind.STATE_DIFFERS, ExceptionKind.FEE_DIFFERS)


class FoundException(msgspec.Struct, frozen=True, kw_only=True):
    """What matching has found, before it is stored."""

    id: str
    kind: ExceptionKind
    channel: Channel
    account: str = ""
    line_id: int | None = None
    merchant_id: str | None = None
    transaction_id: str | None = None
    amount: int


class Findings:
    """What a run has found: how many, and the first of them. There may be more than anybody reads."""

    MOST = 1000

    def __init__(self) -> None:
        self.count = 0
        self.kinds: Counter[ExceptionKind] = Counter()
        self.first: list[FoundException] = []

    def add(self, found: Sequence[FoundException]) -> None:
        self.count += len(found)
        self.kinds.update(each.kind for each in found)
        self.first += found[: max(self.MOST - len(self.first), 0)]


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator has proposed about an exception, and what became of that."""

    id: str
    exception_id: str
    action: Action
    terms: dict[str, str]
    reason: str
    amount: int  # what it moves
    requested_by: str
    requested_at: datetime
    decided_by: str | None = None
    decided_at: datetime | None = None
    is_approved: bool | None = None
    booking_id: str | None = None
    undone_by: str | None = None  # the id of the resolution that reversed it

    @property
    def took_two(self) -> bool:
        return self.decided_by is not None and self.decided_by != self.requested_by


class ActionTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What a proposal about an exception keeps, beside its reason."""

    action: Action
    terms: dict[str, str]


class ReconciliationException(msgspec.Struct, frozen=True, kw_only=True):
    """As it is stored, with its line and its payment, for people to read."""

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
    linked: str | None = None  # the receipt that a reversal takes back
    followed: int = 0  # what the ledger's float has of the payment by now, signed as in a statement
    has_line: bool = False  # the payment has a line
    is_payment_line: bool = False  # one of the files that have the line calls it a payment, whatever others do

    @property
    def moved_cents(self) -> int:
        """What the line moved, to the cent, signed as in the statement."""
        return (self.line_amount or 0) * 100 + (self.line_cents or 0)

    @property
    def lacking_cents(self) -> int:
        """What of the line the ledger's float does not have.

        Of a line with another amount, the float may have followed the payment already. One that went the other way is
        another movement.
        """
        return self.moved_cents - (self.followed * 100 if self.has_followed else 0)

    @property
    def has_followed(self) -> bool:
        is_followed = self.kind is ExceptionKind.AMOUNT_DIFFERS and self.followed != 0
        return is_followed and ((self.line_amount or 0) > 0) == (self.followed > 0)

    @property
    def cannot_match(self) -> bool:
        """The payment that the line names has another line, or the line went the other way."""
        if self.transaction_id is None or self.line_id is None:
            return False
        return self.has_line or ((self.line_amount or 0) > 0) != (self.type is Type.COLLECTION)

    @property
    def takes_back(self) -> bool:
        """A reversal is one by the receipt that it names, not by its words alone."""
        return self.line_kind == "reversal" and bool(self.linked)

    @property
    def is_payout(self) -> bool:
        """Whether a customer got the money, or was to get it."""
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
    why: str  # receipt, key, phone (with the amount, within 15 minutes), or day (with the amount)


class ExceptionCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many are not resolved, and what is at stake, of a kind, a channel and an age."""

    kind: ExceptionKind
    channel: Channel
    age: str  # today, week, older: since it was found
    count: int
    difference: int  # what statements have more than the ledger because of them
    absolute: int  # what is at stake, without signs

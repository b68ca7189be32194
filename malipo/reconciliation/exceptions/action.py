"""The actions of operators about an exception: which there are for each kind, and a resolution, which is an action with
its reason. Pure."""

from datetime import datetime
from enum import StrEnum

import msgspec

from malipo.reconciliation.matching.exception import ExceptionKind


class Action(StrEnum):
    """What operators can do about an exception."""

    MATCH = "match"  # the line is that of this payment
    BOOK = "book"  # the line is booked to an account of the house
    ADOPT = "adopt"  # the line is a payment that we have lost: create it
    RESOLVE = "resolve"  # state the outcome of the payment
    NOTE = "note"  # write down a finding, or that the difference is accepted
    UNDO = "undo"  # reverse an action


ACTIONS = {
    ExceptionKind.OURS_ONLY: (Action.RESOLVE, Action.NOTE),
    ExceptionKind.THEIRS_ONLY: (Action.MATCH, Action.BOOK, Action.ADOPT, Action.NOTE),
    ExceptionKind.AMOUNT_DIFFERS: (Action.MATCH, Action.BOOK, Action.NOTE),
    ExceptionKind.STATE_DIFFERS: (Action.RESOLVE, Action.NOTE),
    ExceptionKind.TWICE: (Action.MATCH, Action.BOOK, Action.NOTE),
    ExceptionKind.FEE_DIFFERS: (Action.NOTE,),
    ExceptionKind.UNKNOWN_LINE: (Action.MATCH, Action.BOOK, Action.ADOPT, Action.NOTE),
}
# A note resolves these, because no amount is missing in the ledger. Others stay open until their amount is matched or
# booked.
RESOLVED_BY_NOTE = (ExceptionKind.STATE_DIFFERS, ExceptionKind.FEE_DIFFERS)


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """An operator's proposal about an exception, and what became of it."""

    id: str
    exception_id: str
    action: Action
    terms: dict[str, str]
    reason: str
    amount: int  # that it moves
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
    """The terms of a proposal about an exception; its reason is stored beside them."""

    action: Action
    terms: dict[str, str]

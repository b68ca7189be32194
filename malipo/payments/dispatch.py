"""What is known of a payment at its network, what was heard, and what is decided. Pure."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from malipo.networks.connector import Answer, FailureCode, Resubmit, Type
from malipo.payments.transaction import Cause
from malipo.settings import Settings


class AnswerSource(StrEnum):
    """How we come to hear."""

    SEND = "send"  # the reply to the request itself
    QUERY = "ask"  # the answer to a question
    CALLBACK = "callback"  # the network's own word


class NextAction(StrEnum):
    SEND = "send"
    SENDING = "sending"  # a worker is at it; if it dies, the next action is to ask
    QUERY = "ask"


class ReviewReason(StrEnum):
    """Why an operator must look."""

    NOT_FOUND = "not_found"  # a payout that the network says it never got, and that must not be sent again
    FORGOTTEN = "forgotten"  # the network had it, and now does not know it
    DIFFERS = "differs"  # the network speaks of another amount or phone
    UNSENT = "unsent"  # the network spoke of it before we had sent it
    RESTORED = "restored"  # it may have been sent before the database was restored, and the network cannot say
    UNHEARD = "unheard"  # nobody said what became of it, at a network that cannot be asked
    SAID_PAID = "said_paid"  # a callback said that it was paid, and no query confirms it
    DISPUTED = "disputed"  # a signed callback contradicts what was said before, and the query does not confirm it


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """Where we stand with the network."""

    connector: str | None = None
    next_action: NextAction = NextAction.SEND
    send_count: int = 0
    query_count: int = 0
    not_found_count: int = 0
    not_indexed_count: int = 0  # in a row
    is_acknowledged: bool = False
    is_hinted: bool = False
    is_success_reported: bool = False
    is_follow_up: bool = False  # the payment has ended, and its network is asked whether it stays so
    is_asked_first: bool = False  # it was not sent, as far as we know; its network is asked before it is
    hinted_failure: FailureCode | None = None
    attention: ReviewReason | None = None
    # How long ago it was last sent, put into the queue (of a follow-up: ended), and said to be paid, by the database's
    # clock. Only the last is written: 0 is now.
    sent_seconds: float | None = None
    queued_seconds: float = 0
    success_seconds: float | None = None


class LatestAnswer(msgspec.Struct, frozen=True):
    """What was last said of a payment that has ended, where it is not what its merchant was told, and how."""

    is_paid: bool
    source: AnswerSource | None = None  # None: operators have read it on the network's statement


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    poll_seconds: Sequence[int]
    not_found_seconds: float
    not_indexed_seconds: float = 1800
    not_indexed_answers: int = 6
    follow_up_seconds: Sequence[int] = (600, 3600, 21_600, 86_400, 259_200)

    @classmethod
    def of(cls, settings: Settings) -> "Rules":
        return cls(**{name: getattr(settings, name) for name in cls.__struct_fields__})


class ReceivedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, and what it is worth."""

    connector: str
    source: AnswerSource
    answer: Answer
    is_trusted: bool = True  # not so for an unsigned callback, which is only a hint
    is_listed: bool = False  # an unsigned callback from an address that the operator has listed
    cannot_ask: frozenset[Type] = frozenset()  # types of payment for which the network has no query
    can_query: bool = True  # what that means for the payment in question
    age_seconds: float = 0  # of an answer: how long ago the question left
    resubmit: Resubmit = Resubmit.UNSAFE


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    cause: Cause | None = None
    failure_code: FailureCode | None = None
    is_contradiction: bool = False  # the network says the opposite of what was last said
    dispatch: Dispatch | None = None  # None: nothing is left to do
    wait_seconds: float | None = None  # None: as it was

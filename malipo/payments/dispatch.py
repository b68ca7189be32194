"""The dispatch of a payment: its state at the network and the next action; answers received, and decisions. Pure."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from malipo.networks.connector import Answer, FailureCode, Resubmit, Type
from malipo.payments.transaction import Cause
from malipo.settings import Settings


class AnswerSource(StrEnum):
    """How an answer was received."""

    SEND = "send"  # the reply to the request itself
    QUERY = "ask"  # the answer to a query, by its stored name
    CALLBACK = "callback"  # sent by the network on its own
    STATEMENT = "statement"  # a line of the network's statement, which takes precedence


class NextAction(StrEnum):
    SEND = "send"
    SENDING = "sending"  # a worker has claimed it; if the worker dies, the next action is a query
    QUERY = "ask"  # the stored name


class ReviewReason(StrEnum):
    """Why an operator must review the payment."""

    NOT_FOUND = "not_found"  # a payout that the network does not find, and that must not be sent again
    FORGOTTEN = "forgotten"  # the network had acknowledged it, and now does not find it
    DIFFERS = "differs"  # the network reports another amount or phone
    UNSENT = "unsent"  # the network reported it before we had sent it
    RESTORED = "restored"  # it may have been sent before the database was restored, and the network cannot say
    UNHEARD = "unheard"  # no outcome was received, and the network has no query
    SAID_PAID = "said_paid"  # a callback reported that it was paid, and no query confirms it
    RESEMBLES_ADOPTED = "resembles_adopted"  # it may be the repeat of a payout that a restore has lost
    EXCESS_REFUND = "excess_refund"  # sent before; sent again, it would give back more than is left by now
    DISPUTED = "disputed"  # a signed callback contradicts an earlier report, and the query does not confirm it


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a payment at its network, as the work queue keeps it."""

    connector: str | None = None
    next_action: NextAction = NextAction.SEND
    send_count: int = 0
    query_count: int = 0
    not_found_count: int = 0
    not_indexed_count: int = 0  # in a row
    is_acknowledged: bool = False
    is_hinted: bool = False
    is_success_reported: bool = False
    is_follow_up: bool = False  # the payment has ended; its network is queried in case it reports another outcome
    is_asked_first: bool = False  # as far as we know it was not sent; its network is queried before it is sent
    not_known_to: tuple[str, ...] = ()  # connectors that have answered, since the restore, that they do not have it
    carriers: tuple[str, ...] = ()  # if it is asked first: connectors that may have sent it before; only read
    hinted_failure: FailureCode | None = None
    review_reason: ReviewReason | None = msgspec.field(default=None, name="attention")  # the column's name
    # How long ago the payment was last sent, was queued (a follow-up: ended), and was reported as paid, by the
    # database's clock. Only the last of them is written: 0 stores the time of the write, any other value
    # leaves what is stored.
    sent_seconds_ago: float | None = None
    queued_seconds_ago: float = 0
    success_seconds_ago: float | None = None


class LatestAnswer(msgspec.Struct, frozen=True):
    """The latest report about a payment that has ended, if it differs from its status."""

    is_paid: bool
    source: AnswerSource | None = None  # None: operators, from the network's statement


class QueryRules(msgspec.Struct, frozen=True, kw_only=True):
    poll_seconds: Sequence[int]
    not_found_seconds: float
    not_indexed_seconds: float = 1800
    not_indexed_answers: int = 6
    follow_up_seconds: Sequence[int] = (600, 3600, 21_600, 86_400, 259_200)

    @classmethod
    def of(cls, settings: Settings) -> "QueryRules":
        return cls(**{name: getattr(settings, name) for name in cls.__struct_fields__})


class ReceivedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of a network, how it was received, and how far it can be trusted."""

    connector: str
    source: AnswerSource
    answer: Answer
    is_trusted: bool = True  # False for an unsigned callback, which is only a hint
    is_listed: bool = False  # an unsigned callback from an address that the operator has listed
    review_amount: int | None = None  # an unsigned success of a larger payment is for operators to review
    cannot_query: frozenset[Type] = frozenset()  # types of payment for which the network has no query
    can_query: bool = True  # whether the payment in question can be queried
    age_seconds: float = 0  # how long ago the query was sent
    replied_at: datetime | None = None  # when the reply came, if it was then kept to be written together with others
    resubmit: Resubmit = Resubmit.UNSAFE
    routed_to: str | None = None  # the connector that carries the payment's channel now
    connected: frozenset[str] = frozenset()  # connectors that can be asked


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    cause: Cause | None = None
    is_submitted_first: bool = False  # it ends, though as far as we know it was never sent: two transitions
    failure_code: FailureCode | None = None
    is_contradiction: bool = False  # the network reports the opposite of the latest report
    dispatch: Dispatch | None = None  # None: nothing is left to do
    wait_seconds: float | None = None  # None: unchanged

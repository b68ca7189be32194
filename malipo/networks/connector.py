"""The interface of a connector: payment instructions, answers with verdicts, callbacks, failure codes. Pure."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol, runtime_checkable

import msgspec

from malipo.channel import Channel as Channel


class Type(StrEnum):
    COLLECTION = "COLLECTION"
    DISBURSEMENT = "DISBURSEMENT"


class FailureCode(StrEnum):
    """Why a payment failed, the same codes for every network."""

    DECLINED = "declined"
    EXPIRED = "expired"
    INSUFFICIENT_FUNDS = "insufficient_funds"
    INVALID_RECIPIENT = "invalid_recipient"
    LIMIT_EXCEEDED = "limit_exceeded"
    NOT_RECEIVED = "not_received"
    CHANNEL_UNAVAILABLE = "channel_unavailable"
    REJECTED = "rejected"


class FailureDetail(StrEnum):
    """The cause of a failure, where the network reports more than a code."""

    NOT_REGISTERED = "not_registered"  # the number has no account
    BARRED = "barred"  # it has one, which takes part in no payment now
    FLOAT_TOO_LOW = "float_too_low"  # a payout: the account of the service holds too little


class Verdict(StrEnum):
    """What a network's answer, or the lack of one, says about a payment."""

    CONFIRMED = "confirmed"  # the money moved
    REFUSED = "refused"  # it did not, and never will
    WAITING = "waiting"  # the network has it and has not decided
    UNKNOWN = "unknown"  # no answer, or one that we do not understand: query, never assume
    MISSING = "missing"  # a query's answer: there is no such payment
    NOT_INDEXED = "not_indexed"  # a query's answer: there is none, or it is not indexed yet
    UNSENT = "unsent"  # provably nothing was accepted: the same may be sent again

    @property
    def is_definite(self) -> bool:
        return self in (Verdict.CONFIRMED, Verdict.REFUSED)


class Resubmit(StrEnum):
    """Whether a payout that the network says it does not know may be sent again."""

    DUPLICATES_REFUSED = "duplicates_refused"  # the network refuses to pay a key twice, so the payout may be sent again
    QUERY_AUTHORITATIVE = "query_authoritative"  # its answer is reliable, but it would pay a key twice
    UNSAFE = "unsafe"  # neither: only an operator can find out


class PaymentInstruction(msgspec.Struct, frozen=True, kw_only=True):
    """A payment as the network is instructed to make it.

    `key` is ours. Whether the network refuses to pay it twice is `Connector.resubmit`.
    """

    key: str
    type: Type
    phone: str  # +255…
    amount: int
    note: str  # for the customer's eyes; each network cleans it in its own way
    name: str = ""  # of the customer or the recipient
    channel: Channel | None = None  # whose customer it is: an aggregator must know it, for numbers are portable
    network_id: str | None = None  # the network's own reference, if it has reported one


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a reply, a query's answer or a callback says, in our own terms."""

    verdict: Verdict
    code: str = ""  # the network's own, or ours for a failure of the connection
    detail: str = ""  # the network's message text
    provider_reference: str | None = None
    failure_code: FailureCode | None = None  # when REFUSED
    failure_detail: FailureDetail | None = None  # when the network says more than that
    amount: int | None = None  # where the network repeats them
    phone: str | None = None
    lacks_amount: bool = False  # it names none although this network always does: that is a wrong amount
    is_fault: bool = False  # the network, or the connection to it, has a fault: it counts towards the circuit breaker
    refuses_us: bool = False  # it would refuse every customer (credentials, configuration): it counts too
    alert: str | None = None  # something only an operator can fix: credentials, our float
    network_id: str | None = None  # the network's own id, if its query needs that: it is kept for the query


class Balance(msgspec.Struct, frozen=True, kw_only=True):
    """What a network says that it holds for us, in whole shillings; None if it does not say it."""

    amount: int | None = None
    code: str = ""  # why there is none
    detail: str = ""


class Recipient(msgspec.Struct, frozen=True, kw_only=True):
    """Who has a phone number, as the network has it on file. What it does not say is None: unknown, never an error."""

    name: str | None = None  # personal data: it is shown to who asked, and not logged
    is_registered: bool | None = None  # False only if the network says that this number has no account
    is_barred: bool | None = None  # True if the network says that this account takes no payments now
    code: str = ""  # why something is unknown; never a part of the name
    detail: str = ""


class Callback(msgspec.Struct, frozen=True):
    """A request that a network sent to us."""

    headers: Mapping[str, str]  # names in lower case
    body: bytes


class CallbackReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report of a callback. If it is unsigned, it is only a hint that triggers a status query."""

    key: str
    answer: Answer
    is_signed: bool


class Acknowledgement(msgspec.Struct, frozen=True, kw_only=True):
    """How a network wants its callback answered."""

    status: int
    body: bytes
    media_type: str = "application/json"


class Connector(Protocol):
    """One network. Its methods return an Answer, whatever happens on the connection.

    A timeout, a reset, a 500 and a page of HTML are all UNKNOWN: an exception out of a connector is a bug in the
    connector.
    """

    @property
    def name(self) -> str:
        """The connector's name, as in the settings and in the path of its callbacks."""

    @property
    def timeout_seconds(self) -> float:
        """The longest that any of its calls takes."""

    @property
    def concurrency(self) -> int:
        """How many payments may be on their way to it at once, from one worker."""

    def resubmit(self, type_: Type) -> Resubmit: ...

    def can_query(self, type_: Type) -> bool:
        """Whether the network has a query for this type of payment."""

    async def send(self, instruction: PaymentInstruction) -> Answer:
        """Send the instruction: request a collection, or make a payout."""

    async def query(self, instruction: PaymentInstruction) -> Answer:
        """The status query: what became of an instruction that was sent."""

    async def probe(self) -> Answer:
        """A harmless request: anything but a fault says that the network is up."""

    def read(self, callback: Callback) -> CallbackReport | None:
        """What a callback says; None if it cannot be understood, or its signature is wrong."""

    def acknowledge(self, callback: Callback, report: CallbackReport | None) -> Acknowledgement: ...


@runtime_checkable
class ReadsBalance(Protocol):
    """A connector whose network has a call for the balance. Not every one has."""

    async def balance(self) -> Balance:
        """What lies in the account that payouts are paid from. An answer that is not understood is no amount."""


@runtime_checkable
class LooksUpNames(Protocol):
    """A connector whose network reports the name behind a phone number. Not every one does."""

    def looks_up(self, channel: Channel) -> bool:
        """Whether it reports names of this channel: what it names need not be what it carries."""

    async def look_up(self, channel: Channel, phone: str) -> Recipient:
        """Who has this number (+255…). It moves no money. An answer that is not understood is an unknown name."""


def cannot_query(connector: Connector) -> frozenset[Type]:
    """The types of payment for which this network has no query."""
    return frozenset(type_ for type_ in Type if not connector.can_query(type_))

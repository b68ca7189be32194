"""A transaction, its statuses, and the transitions between them. Pure."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from malipo.errors import Missing
from malipo.networks.connector import Channel
from malipo.networks.connector import FailureCode as FailureCode
from malipo.networks.connector import Type as Type


class NoSuchTransaction(Missing):
    code = "transaction_not_found"

    def __init__(self) -> None:
        super().__init__("There is no transaction with this id or reference.")


class Status(StrEnum):
    PENDING = "PENDING"
    PROCESSING = "PROCESSING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def is_final(self) -> bool:
        return self in _FINAL


_FINAL = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED})


class Cause(StrEnum):
    """The causes of transitions."""

    SUBMITTED = "submitted"  # a worker has claimed it for sending
    WITHDRAWN = "withdrawn"  # the merchant cancelled it before it was sent
    LAPSED = "lapsed"  # it could not be sent to a network in time; nothing was sent
    UNCONNECTED = "unconnected"  # no connected network could take it; nothing was sent
    CONFIRMED = "confirmed"  # the network reports that the money moved
    REFUSED = "refused"  # the network reports that the money did not move, and never will


class CorrectionReason(StrEnum):
    """Why the merchant is notified of a correction."""

    CREDITED = "credited"  # the wallet got the money that it should have had
    DEBT_RECORDED = "debt_recorded"  # the wallet must give money back; until then that cannot be spent
    DEBT_COLLECTED = "debt_collected"  # the debt was taken from the wallet, or a part of it
    DEBT_WAIVED = "debt_waived"  # operators cancelled the debt
    DEBT_WITHDRAWN = "debt_withdrawn"  # the network reversed its report: nothing is owed


class CorrectionNotice(msgspec.Struct, frozen=True, rename="camel"):
    """A correction after the end, as the merchant is notified of it."""

    outcome: Status  # COMPLETED or FAILED, as the network reports it
    amount: int
    corrected_at: datetime
    reason: CorrectionReason


class Refund(msgspec.Struct, frozen=True):
    """One refund of a collection, with its status and the latest report about it."""

    id: str
    ordinal: int
    amount: int
    status: Status
    is_reported_paid: bool | None = None  # by the latest report after its end; None: there was no report

    @property
    def is_under_way(self) -> bool:
        return not self.status.is_final

    @property
    def is_paid(self) -> bool:
        """Whether the customer has the money. A report after the end counts more than the status, which stays."""
        return self.status is Status.COMPLETED if self.is_reported_paid is None else self.is_reported_paid

    @property
    def was_never_sent(self) -> bool:
        return self.status is Status.CANCELLED and self.is_reported_paid is None


TRANSITIONS = {
    (Status.PENDING, Cause.SUBMITTED): Status.PROCESSING,
    (Status.PENDING, Cause.WITHDRAWN): Status.CANCELLED,
    (Status.PENDING, Cause.LAPSED): Status.FAILED,
    (Status.PENDING, Cause.UNCONNECTED): Status.FAILED,
    (Status.PROCESSING, Cause.CONFIRMED): Status.COMPLETED,
    (Status.PROCESSING, Cause.REFUSED): Status.FAILED,
}

# Only a collection lapses. A payout waits for its network, and can be cancelled meanwhile; if no network is connected
# that could take it, it ends as UNCONNECTED.
NEVER = {(Type.DISBURSEMENT, Cause.LAPSED)}


def next_status(type_: Type, status: Status, cause: Cause) -> Status | None:
    """The status after a cause; None if there is no such transition."""
    if (type_, cause) in NEVER:
        return None
    return TRANSITIONS.get((status, cause))


BEFORE_ORDER = "\x1f"  # stands before the order reference in the text that a search reads


def folded(text: str) -> str:
    """Text without differences of case and of Unicode normalization."""
    if text.isascii():
        return text.lower()  # the same, 15 times as fast
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


class Transaction(msgspec.Struct, frozen=True, kw_only=True):
    merchant_id: str
    id: str
    reference: str
    network_key: str
    type: Type
    channel: Channel
    status: Status
    amount: int
    fee: int
    phone: str
    name: str
    description: str
    metadata: Mapping[str, Any]
    created_at: datetime
    provider_reference: str | None = None
    failure_code: str | None = None
    failure_reason: str | None = None
    failure_detail: str | None = None  # the network's detail, if it gave one beyond the code
    network_code: str | None = None  # the network's own code, in the answer that ended it as FAILED
    processing_at: datetime | None = None
    ended_at: datetime | None = None
    correction: CorrectionNotice | None = None  # the latest; filled only for reads by the merchant
    is_key_derived: bool = False  # of a draft: its network key is derived from its idempotency key
    created_by: str | None = None  # of a draft; afterwards only `store/creators.py` reads it
    order_reference: str | None = None  # the merchant's own number for it
    refund_of: str | None = None  # of a payout: the id of the collection that it gives back
    batch_id: str | None = None  # of a payout: the batch that it is a line of
    link_id: str | None = None  # of a collection: the payment link that the customer paid it by
    retry_of: str | None = None  # of a draft: the failed payout that it pays again
    network_id: str | None = None  # the network's own id of the payment, if its query needs that
    refund_ordinal: int = 0  # of a draft that is a refund: its place among those of the collection
    refunds: Sequence[Refund] = ()  # of a collection; filled only for reads by the merchant

    @property
    def net_amount(self) -> int:
        """The amount that the receiver gets. A payout's fee is charged on top of the amount, a collection's fee is
        taken out of it."""
        return self.amount if self.type is Type.DISBURSEMENT else self.amount - self.fee

    @property
    def search_text(self) -> str:
        """The text that a search reads. Each field begins a line, so that no match spans two fields.

        A name may have several lines. No field contains the character that stands before the order reference.
        """
        lines = f"{self.reference}\n{self.phone}\n{self.name}"
        return folded(lines if self.order_reference is None else f"{lines}{BEFORE_ORDER}{self.order_reference}")

    @property
    def completed_at(self) -> datetime | None:
        return self.ended_at if self.status is Status.COMPLETED else None

    def status_log(self) -> Iterator[tuple[Status, datetime]]:
        """Every status reached, in order. Each is reached at most once, so three times are enough."""
        yield Status.PENDING, self.created_at
        if self.processing_at is not None:
            yield Status.PROCESSING, self.processing_at
        if self.ended_at is not None:
            yield self.status, self.ended_at

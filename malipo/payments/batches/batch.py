"""A batch of payouts, its items and its statuses. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from malipo import ids
from malipo.audit_log.actor import Actor
from malipo.errors import Missing
from malipo.merchants.api_keys import PayoutLimits
from malipo.networks.connector import Channel
from malipo.payments.transaction import Status, Transaction

MOST_ITEMS = 5_000


class BatchStatus(StrEnum):
    AWAITING_APPROVAL = "AWAITING_APPROVAL"  # nothing is reserved, nothing moves
    RUNNING = "RUNNING"  # every item has its payout, and not all have ended
    COMPLETED = "COMPLETED"  # every payout has ended, whichever way
    CANCELLED = "CANCELLED"  # before it was approved


class Requester(msgspec.Struct, frozen=True):
    """Who makes, approves or cancels a batch: an API key, or a person."""

    id: str  # of an API key; of a person the email
    person: str | None  # the email; of a key: who made the key. None: not known
    actor: Actor | None = None  # for the audit log: a person, or an API key that approves
    payout_limits: PayoutLimits | None = None  # of an API key


class WarningCode(StrEnum):
    REPEATED_ITEM = "repeated_item"  # an item before it has the same number and amount
    PAID_BEFORE = "paid_before"  # a payout of the last 30 days has
    AWAITING_TOO = "awaiting_too"  # an item of another batch that awaits approval has


class BatchWarning(msgspec.Struct, frozen=True):
    """Something about an item that somebody should look at. Never a refusal."""

    index: int  # of the item
    code: WarningCode
    other: str  # the index of the item it repeats, the id of the payout, or of the other batch


class BatchItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item as it was made. Its payout has its outcome."""

    index: int  # its place in the request, from 0
    channel: Channel
    amount: int
    fee: int  # fixed when the batch is made
    phone: str
    name: str = ""
    description: str = ""
    order_reference: str | None = None
    refund_of: str | None = None
    retry_of: str | None = None  # the payout that has failed, and that this pays again
    network_key: str = ""
    payout_id: str | None = None  # of one that was paid by a lost approval, and adopted
    name_found: str | None = None  # the name that the network has for this number, if it was looked up
    name_checked_at: datetime | None = None


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    merchant_id: str
    id: str
    name: str
    status: BatchStatus
    item_count: int
    amount: int  # of all items, without fees
    fee: int
    created_at: datetime
    created_by: str
    maker: str | None  # the person it counts for; None: not known
    warnings: Sequence[BatchWarning] = ()
    approved_at: datetime | None = None
    approved_by: str | None = None
    approver: str | None = None
    first_payout_id: str | None = None
    adopted_count: int = 0  # items that a lost approval had paid, and that operators adopted before this approval
    completed_at: datetime | None = None
    cancelled_at: datetime | None = None
    cancelled_by: str | None = None

    def payout_id(self, index: int) -> str:
        """The id of an item's payout, unless it was adopted. They follow one another: a range of ids is a batch."""
        assert self.first_payout_id is not None, "it has no payouts before it is approved"
        return ids.in_series(self.first_payout_id, index)

    @property
    def payout_ids(self) -> tuple[str, str]:
        """The first and the last id of its payouts."""
        return self.payout_id(0), self.payout_id(self.item_count - 1)


class NoSuchBatch(Missing):
    code = "batch_not_found"

    def __init__(self) -> None:
        super().__init__("There is no batch with this id.")


class BatchLine(msgspec.Struct, frozen=True):
    """An item with its payout; None before approval."""

    item: BatchItem
    payout: Transaction | None


class BatchProgress(msgspec.Struct, frozen=True):
    """A batch, and how many of its payouts have which status; none before approval."""

    batch: Batch
    counts: Mapping[Status, int]

"""What the service answers with: one small immutable class for each thing.

A field has Python's spelling here (`net_amount` is the contract's `netAmount`). One that an answer does not have is
None. One that this version does not know is there all the same, so that a newer service never breaks an older client.
Amounts are whole shillings, as int. Times are text in UTC, as the service writes them: `2026-11-15T08:30:00.123Z`.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

ChannelName = Literal["MPESA", "TIGO_PESA", "AIRTEL_MONEY", "HALOPESA"]
PaymentType = Literal["COLLECTION", "DISBURSEMENT"]
Status = Literal["PENDING", "PROCESSING", "COMPLETED", "FAILED", "CANCELLED"]
BatchStatus = Literal["AWAITING_APPROVAL", "RUNNING", "COMPLETED", "CANCELLED"]
LinkStatus = Literal["ACTIVE", "PAID", "EXPIRED", "CANCELLED"]
SettlementStatus = Literal["REQUESTED", "SENT", "COMPLETED", "RETURNED", "CANCELLED"]
_ENDED = ("COMPLETED", "FAILED", "CANCELLED")


def camel(name: str) -> str:
    """The contract's spelling of a Python name."""
    first, *more = name.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in more)


class Record:
    """An answer of the service: its fields are attributes, and `to_dict()` is the JSON as it came."""

    if TYPE_CHECKING:
        _fields: dict[str, Any]

    __slots__ = ("_fields",)
    _declared: ClassVar[frozenset[str]] = frozenset()
    _nested: ClassVar[dict[str, type[Record]]] = {}

    def __init_subclass__(cls, nested: dict[str, type[Record]] | None = None) -> None:
        cls._declared = frozenset(cls.__annotations__)
        cls._nested = nested or {}

    def __init__(self, fields: dict[str, Any]) -> None:
        object.__setattr__(self, "_fields", fields)

    def to_dict(self) -> dict[str, Any]:
        copied: dict[str, Any] = copy.deepcopy(self._fields)
        return copied

    if not TYPE_CHECKING:  # A type checker is to find a name that is mistyped.

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            key = camel(name)
            if key not in self._fields and name not in self._declared:
                raise AttributeError(f"{type(self).__name__} has no field {name!r}")
            return self._record_of(name, self._fields.get(key))

    def _record_of(self, name: str, value: Any) -> Any:
        kind = self._nested.get(name)
        if kind is None or value is None:
            return value
        return [kind(each) for each in value] if isinstance(value, list) else kind(value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._fields == self._fields

    def __hash__(self) -> int:
        return hash((type(self), repr(self._fields)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._fields,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._fields!r})"


class Created(Record):
    """The result of a request with an Idempotency-Key, created now or earlier."""

    if TYPE_CHECKING:
        _replayed_status: str | None

    __slots__ = ("_replayed_status",)

    def __init__(self, fields: dict[str, Any], replayed_status: str | None = None) -> None:
        super().__init__(fields)
        object.__setattr__(self, "_replayed_status", replayed_status)

    @property
    def is_replay(self) -> bool:
        """Whether the key was used before, perhaps by this call, whose answer was lost. The fields are those of the
        first answer: ask by `get` for those of now."""
        return self._replayed_status is not None

    @property
    def current_status(self) -> str:
        """The status at the time of the answer. Of a replay, `status` is the one of the first answer."""
        return str(self._replayed_status or self._fields["status"])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._fields, self._replayed_status)


class ReceiptMerchant(Record):
    name: str
    registered_name: str | None
    tin: str | None


class ReceiptCorrection(Record):
    """What counts now, because the network said something else after the end."""

    outcome: Status
    corrected_at: str


class ReceiptFact(Record):
    """What became true, and the proof that the log has it: None until a checkpoint covers it."""

    kind: str
    fact: str | None
    salt: str | None
    proof: str | None


class Receipt(Record, nested={"merchant": ReceiptMerchant, "correction": ReceiptCorrection, "facts": ReceiptFact}):
    """The receipt of a payment. `to_dict()` is what `verify_receipt.py` verifies."""

    id: str
    reference: str
    type: PaymentType
    amount: int
    currency: str
    channel: ChannelName
    status: Status
    phone: str
    merchant: ReceiptMerchant
    provider_reference: str | None
    completed_at: str | None
    refunded_amount: int | None
    correction: ReceiptCorrection | None
    url: str
    facts: list[ReceiptFact]


class Correction(Record):
    """The effect of a later report of the network on the wallet. The reported status stays."""

    outcome: Status
    amount: int
    corrected_at: str
    reason: str


class StatusLog(Record):
    status: Status
    timestamp: str


class Transaction(Created, nested={"correction": Correction, "status_logs": StatusLog}):
    """A payment: a collection from a customer, or a disbursement to somebody."""

    id: str
    reference: str
    amount: int
    fee: int
    net_amount: int
    channel: ChannelName
    status: Status
    buyer_phone: str | None
    buyer_name: str | None
    recipient_phone: str | None
    recipient_name: str | None
    description: str
    metadata: dict[str, Any] | None
    order_reference: str | None
    provider_reference: str | None
    failure_code: str | None
    failure_reason: str | None
    failure_detail: str | None
    network_code: str | None
    batch_id: str | None
    link: str | None
    created_at: str
    completed_at: str | None
    correction: Correction | None
    refund_of: str | None
    refunded_amount: int | None
    refunds: list[str] | None
    status_logs: list[StatusLog] | None

    @property
    def type(self) -> PaymentType:
        """COLLECTION or DISBURSEMENT. Only the answer to a new collection does not say so."""
        return cast("PaymentType", self._fields.get("type", "COLLECTION"))

    @property
    def has_ended(self) -> bool:
        return self.status in _ENDED


class BatchWarning(Record):
    """Something that may be paid twice. Look at it before you approve."""

    index: int
    code: str
    message: str


class Batch(Created, nested={"warnings": BatchWarning}):
    """Many payouts, made by one and approved by another."""

    id: str
    name: str
    status: BatchStatus
    count: int
    amount: int
    fee: int
    counts: dict[str, int] | None
    created_at: str
    approved_at: str | None
    completed_at: str | None
    cancelled_at: str | None
    warnings: list[BatchWarning] | None


class BatchItem(Record):
    """One payout of a batch. It has an `id` and a `status` from the approval on."""

    index: int
    amount: int
    fee: int
    channel: ChannelName
    recipient_phone: str
    recipient_name: str
    description: str
    name_found: str | None
    order_reference: str | None
    refund_of: str | None
    id: str | None
    reference: str | None
    status: Status | None
    provider_reference: str | None
    failure_code: str | None
    failure_reason: str | None
    completed_at: str | None


class Quote(Record):
    """The cost of a payment."""

    type: PaymentType
    channel: ChannelName
    amount: int
    fee: int
    net_amount: int
    total_amount: int


class Recipient(Record):
    """Whose number it is, as far as the network says. None is unknown."""

    channel: ChannelName
    phone: str
    name: str | None
    is_registered: bool | None
    checked_at: str | None


class Channel(Record):
    """A network: its limits, its prefixes, and whether it takes payments now."""

    channel: ChannelName
    name: str
    min_amount: int
    max_amount: int
    prefixes: list[str]
    is_up: bool
    suggested: bool | None


class Wallet(Record):
    currency: str
    available: int
    reserved: int
    owed: int | None
    updated_at: str


class WalletEntry(Record):
    """A line of the statement."""

    line: int
    kind: str
    amount: int
    balance_after: int
    cause_id: str
    reference: str
    created_at: str


class LatePayment(Record):
    """A payment that came by a link after its end, or beside another one. The money is in the wallet."""

    id: str
    reason: str
    amount: int
    paid_at: str


class Link(Created, nested={"late_payments": LatePayment}):
    """A payment link, with what has come by it."""

    id: str
    url: str | None  # Not in events.
    status: LinkStatus
    amount: int | None
    min_amount: int | None
    max_amount: int | None
    description: str
    order_reference: str | None
    reusable: bool
    max_payments: int | None
    expires_at: str | None
    return_url: str | None
    paid_count: int | None  # Not in the answer to its creation; nor are the next ones.
    paid_amount: int | None
    late_payments: list[LatePayment] | None
    created_at: str
    paid_at: str | None
    cancelled_at: str | None
    payment: str | None  # Only in events: the payment that they are about.


class SettlementAccount(Record):
    """The bank account of a settlement. Only the end of its number is shown."""

    id: str
    bic: str
    account_number: str
    holder_name: str


class Settlement(Created, nested={"bank_account": SettlementAccount}):
    """A part of the wallet that is sent to your bank account."""

    id: str
    reference: str
    status: SettlementStatus
    amount: int
    fee: int
    net_amount: int
    bank_account: SettlementAccount | None
    order_reference: str | None
    scheduled_on: str | None
    adopted: bool | None
    created_at: str
    sent_at: str | None
    completed_at: str | None
    booked_on: str | None
    bank_reference: str | None
    returned_at: str | None
    return_reason: str | None
    cancelled_at: str | None


class SettlementSum(Record):
    """The lines of a report that are of one group."""

    group: str
    count: int
    gross: int
    fee: int
    net: int


class SettlementReport(Record, nested={"groups": SettlementSum}):
    """What a settlement consists of: opening + the net of the groups = closing."""

    settlement_id: str
    reference: str
    first_line: int
    last_line: int
    opening: int
    groups: list[SettlementSum]
    closing: int
    bank_reference: str | None


class SettlementEntry(Record):
    """A line of a settlement's report."""

    line: int
    group: str
    gross: int
    fee: int
    net: int
    balance_after: int
    cause_id: str
    reference: str
    order_reference: str
    created_at: str


class Event(Record, nested={"transaction": Transaction, "batch": Batch, "link": Link, "settlement": Settlement}):
    """What happened to a payment, a batch, a link or a settlement. `id` is the same in the feed and in every webhook:
    deduplicate on it.

    Look at `event` first: `batch.completed` has a `batch`, `link.paid` and `link.late` a `link`, `settlement.completed`
    and `settlement.returned` a `settlement`, and their `transaction` is None. They come only to who asks for them: an
    endpoint that subscribes to them or to "*", a reader of the feed by `types`.
    """

    id: str
    event: str
    created_at: str | None  # Only in the feed.
    transaction: Transaction | None
    batch: Batch | None
    link: Link | None
    settlement: Settlement | None


class EventPage(Record, nested={"events": Event}):
    """Some events in order, and the cursor behind them."""

    events: list[Event]
    next: str


class Webhook(Record):
    """An endpoint of yours. It has its `secret` only when that is made: keep it then."""

    id: str
    url: str
    events: list[str]
    is_active: bool
    created_at: str | None
    secret: str | None
    rotation_ends_at: str | None
    failing_since: str | None
    switched_off_at: str | None
    switched_off_reason: str | None


class Attempt(Record):
    """One POST to an endpoint: what your server answered, or why there was no answer."""

    id: str
    at: str
    duration_ms: int
    status: int | None
    headers: dict[str, str] | None
    answer: str | None
    error: str | None


class Delivery(Record, nested={"attempts": Attempt}):
    """An event on its way to an endpoint."""

    id: str
    event: str
    state: str
    transaction_id: str | None
    batch_id: str | None
    link_id: str | None
    settlement_id: str | None
    next_attempt_at: str | None
    attempts: list[Attempt]

"""A fact: what happened to a payment, as its receipt shows it and its leaf in the log commits to it. Pure.

The text of a fact is canonical JSON: keys in order, no spaces, UTF-8, only texts and whole numbers. Its commitment is
the SHA-256 of a random salt and the text. The log has only the commitment, so it shows nothing of a payment; when salt
and text are deleted, the commitment is a random number.
"""

import hashlib
from enum import StrEnum

import msgspec

from malipo import phone
from malipo.money import CURRENCY
from malipo.outbox.event import Event

SALT_BYTES = 32
VERSION = 1


class Kind(StrEnum):
    COMPLETED = "completed"
    REFUNDED = "refunded"  # the customer got back money of a collection
    CORRECTED = "corrected"  # after its end the payment turned out, or was decided, to have the opposite outcome


class Merchant(msgspec.Struct, frozen=True):
    """A merchant by the name that customers know."""

    id: str
    name: str  # that customers see
    registered_name: str | None = None  # of its account, where that is another
    tin: str | None = None


class ReportedCorrection(msgspec.Struct, frozen=True, rename="camel"):
    outcome: str
    corrected_at: str


class ReportedPayment(msgspec.Struct, frozen=True, rename="camel"):
    """The part of an event's body that a receipt shows of the payment."""

    id: str
    reference: str
    type: str
    amount: int
    channel: str
    created_at: str
    buyer_phone: str | None = None
    recipient_phone: str | None = None
    provider_reference: str | None = None
    refund_of: str | None = None
    completed_at: str | None = None
    correction: ReportedCorrection | None = None


class Fact(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """`payment` is the payment that the receipt is about: for a refund, the collection."""

    fact: Kind
    version: int
    amount: int
    at: str
    channel: str
    currency: str
    merchant: str
    merchant_name: str
    payment: str
    phone: str  # masked
    reference: str
    type: str
    merchant_registered_name: str | None = None
    merchant_tin: str | None = None
    network_receipt: str | None = None
    refund: str | None = None
    outcome: str | None = None  # of a correction: COMPLETED or FAILED
    ordinal: int | None = None  # of a correction: the first, the second …

    @property
    def subject(self) -> str:
        """The payment or payout that the fact is about."""
        return self.refund or self.payment


KINDS = {
    Event.PAYMENT_COMPLETED: Kind.COMPLETED,
    Event.PAYOUT_COMPLETED: Kind.COMPLETED,  # of a refund: REFUNDED
    Event.PAYMENT_CORRECTED: Kind.CORRECTED,
    Event.PAYOUT_CORRECTED: Kind.CORRECTED,
}


class _ReportedEvent(msgspec.Struct):
    transaction: ReportedPayment


_decode_event = msgspec.json.Decoder(_ReportedEvent).decode
_decode_payment = msgspec.json.Decoder(ReportedPayment).decode
_decode_fact = msgspec.json.Decoder(Fact).decode
_encode = msgspec.json.Encoder(order="sorted").encode


def payment_in(event_body: str) -> ReportedPayment:
    return _decode_event(event_body).transaction


def payment_of(view: bytes) -> ReportedPayment:
    return _decode_payment(view)


def fact_of(event: Event, payment: ReportedPayment, merchant: Merchant, *, ordinal: int = 1) -> Fact | None:
    """The fact in an event; None if the event is none for the log."""
    kind = KINDS.get(event)
    if kind is None:
        return None
    if kind is Kind.COMPLETED and payment.refund_of is not None:
        kind = Kind.REFUNDED
    correction = payment.correction if kind is Kind.CORRECTED else None
    at = correction.corrected_at if correction is not None else payment.completed_at
    return Fact(
        fact=kind,
        version=VERSION,
        amount=payment.amount,
        at=at or payment.created_at,
        channel=payment.channel,
        currency=CURRENCY,
        merchant=merchant.id,
        merchant_name=merchant.name,
        merchant_registered_name=merchant.registered_name,
        merchant_tin=merchant.tin,
        payment=payment.refund_of or payment.id,
        phone=phone.mask(payment.buyer_phone or payment.recipient_phone or ""),
        reference=payment.reference,
        type=payment.type,
        network_receipt=payment.provider_reference,
        refund=None if payment.refund_of is None else payment.id,
        outcome=None if correction is None else correction.outcome,
        ordinal=None if correction is None else ordinal,
    )


def encode(fact: Fact) -> str:
    return _encode(fact).decode()


def decode(text: str) -> Fact:
    return _decode_fact(text)


def is_canonical(text: str) -> bool:
    """Whether a text is the canonical text of its fact: no key twice, no unknown key."""
    try:
        return encode(decode(text)) == text
    except msgspec.MsgspecError:
        return False


def commitment_of(salt: bytes, text: str) -> bytes:
    assert len(salt) == SALT_BYTES
    return hashlib.sha256(salt + text.encode()).digest()

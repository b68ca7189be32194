"""Reads the fields of a request for a payment, with the mistakes in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from malipo import ids
from malipo.audit_log.actor import Actor
from malipo.money import MIN_PAYMENT
from malipo.networks.connector import Channel
from malipo.payments import idempotency
from malipo.payments.initiate import PaymentRequest
from malipo.payments.limits.payout_sums import Limits
from malipo.payments.transaction import Status, Transaction, Type
from malipo.settings import Settings
from malipo.validation.fields import Fields


@dataclass(frozen=True, slots=True)
class PaymentTerms:
    """The limits of amounts, and the prefix of references, of an installation."""

    reference_prefix: str
    max_amounts: Mapping[Channel, int]

    @classmethod
    def of(cls, settings: Settings) -> "PaymentTerms":
        return cls(
            settings.reference_prefix,
            {
                Channel.MPESA: settings.max_amount_mpesa,
                Channel.TIGO_PESA: settings.max_amount_tigo_pesa,
                Channel.AIRTEL_MONEY: settings.max_amount_airtel_money,
                Channel.HALOPESA: settings.max_amount_halopesa,
            },
        )

    def max_amount(self, channel: Channel | None) -> int:
        """The largest amount of one payment; without a valid channel, the largest of all channels."""
        return self.max_amounts[channel] if channel else max(self.max_amounts.values())

    def reference_of(self, suffix: str) -> str:
        return f"{self.reference_prefix}-{suffix}"


def payment_request_of(
    fields: Fields,
    type_: Type,
    merchant_id: str,
    *,
    key: str | None,
    terms: PaymentTerms,
    now: datetime,
    actor: Actor | None = None,
    created_by: str | None = None,
    payout_limits: Limits | None = None,
    is_key_required: bool = False,
) -> PaymentRequest:
    """The request with its ids. It keeps its mistakes, because a used idempotency key is answered before any of
    them."""
    party = "buyer" if type_ is Type.COLLECTION else "recipient"
    channel = fields.choice("channel", Channel, is_required=True)
    suffix = ids.suffix(now)
    draft = Transaction(
        merchant_id=merchant_id,
        id=ids.mint("txn_", now),
        reference=terms.reference_of(suffix),
        network_key=suffix,
        type=type_,
        channel=channel or Channel.MPESA,
        status=Status.PENDING,
        amount=fields.amount("amount", least=MIN_PAYMENT, most=terms.max_amount(channel)),
        fee=0,
        phone=fields.phone(f"{party}Phone"),
        name=fields.text(f"{party}Name", most=100),
        description=fields.text("description", most=255),
        metadata=fields.metadata("metadata"),
        created_at=now,
        created_by=created_by,
        order_reference=fields.order_reference(),
    )
    fields.currency()
    key = idempotency.key_in(fields, key, is_required=is_key_required)
    known = {
        "amount": fields.raw("amount"),
        "channel": fields.raw("channel"),
        "phone": fields.raw(f"{party}Phone"),
        "name": fields.raw(f"{party}Name", ""),
        "description": fields.raw("description", ""),
        "metadata": fields.raw("metadata", {}),
    }
    if draft.order_reference is not None:  # only then, so that the hashes of older requests stay the same
        known["orderReference"] = draft.order_reference
    return PaymentRequest(
        merchant_id=merchant_id,
        type=type_,
        draft=draft if fields.problem is None else None,
        problem=fields.problem,
        key=key,
        request_hash=idempotency.request_hash(known) if key is not None else b"",
        actor=actor,
        payout_limits=payout_limits,
    )

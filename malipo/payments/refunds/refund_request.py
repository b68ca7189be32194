"""Reads the fields of a request for a refund, with the mistakes in them."""

from datetime import datetime

from malipo import ids
from malipo.audit_log.actor import Actor
from malipo.money import MIN_PAYMENT
from malipo.payments import idempotency
from malipo.payments.initiate import PaymentRequest
from malipo.payments.limits.payout_sums import Limits
from malipo.payments.payment_request import PaymentTerms
from malipo.payments.refunds.refund_network_keys import SCOPE
from malipo.payments.transaction import Status, Transaction, Type
from malipo.validation.fields import Fields

_FIELDS = ("amount", "reason", "orderReference", "currency")


def refund_request_of(
    fields: Fields,
    collection: Transaction,
    *,
    key: str | None,
    terms: PaymentTerms,
    now: datetime,
    actor: Actor | None = None,
    created_by: str | None = None,
    payout_limits: Limits | None = None,
    is_key_required: bool = False,
) -> PaymentRequest:
    """The request for a payout to the customer who paid, on the same channel. How much is left, whether `amount` is too
    much, and the network key are decided when the collection is locked.

    Without `amount` the refund is of all that is left. So unknown fields are refused: one may be a misspelt `amount`.
    """
    fields.refuse_unknown(*_FIELDS, of="a refund")
    suffix = ids.suffix(now)
    draft = Transaction(
        merchant_id=collection.merchant_id,
        id=ids.mint("txn_", now),
        reference=terms.reference_of(suffix),
        network_key=suffix,
        type=Type.DISBURSEMENT,
        channel=collection.channel,
        status=Status.PENDING,
        amount=fields.optional_amount("amount", least=MIN_PAYMENT, most=None) or 0,
        fee=0,
        phone=collection.phone,
        name=collection.name,
        description=fields.text("reason", most=255),
        metadata={},
        created_at=now,
        created_by=created_by,
        order_reference=fields.order_reference(),
        refund_of=collection.id,
    )
    fields.currency()
    key = idempotency.key_in(fields, key, is_required=is_key_required)
    known = {
        "refundOf": collection.id,
        "amount": fields.raw("amount"),
        "reason": fields.raw("reason", ""),
        "orderReference": fields.raw("orderReference"),
    }
    return PaymentRequest(
        merchant_id=collection.merchant_id,
        type=Type.DISBURSEMENT,
        draft=draft if fields.problem is None else None,
        problem=fields.problem,
        key=key,
        request_hash=idempotency.request_hash(known) if key is not None else b"",
        actor=actor,
        payout_limits=payout_limits,
        scope=SCOPE,
    )

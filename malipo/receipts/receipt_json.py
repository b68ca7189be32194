"""The JSON of a receipt. Pure."""

from typing import Any

from malipo import clock, phone
from malipo.money import CURRENCY
from malipo.receipts.fact import Kind, Merchant, decode
from malipo.receipts.find_receipt import ProvenFact, Receipt

View = dict[str, Any]


def receipt_view(receipt: Receipt, *, url: str) -> View:
    payment, merchant = receipt.payment, merchant_of(receipt)
    shown: View = {
        "id": payment.id,
        "reference": payment.reference,
        "type": payment.type,
        "amount": payment.amount,
        "currency": CURRENCY,
        "channel": payment.channel,
        "status": payment.status,
        "phone": phone.mask(payment.phone),
        "merchant": {"name": merchant.name},
    }
    if merchant.registered_name is not None:
        shown["merchant"]["registeredName"] = merchant.registered_name
    if merchant.tin is not None:
        shown["merchant"]["tin"] = merchant.tin
    if payment.provider_reference is not None:
        shown["providerReference"] = payment.provider_reference
    if payment.completed_at is not None:
        shown["completedAt"] = clock.iso(payment.completed_at)
    if refunded := sum(each.amount for each in payment.refunds if each.is_paid):
        shown["refundedAmount"] = refunded
    if payment.correction is not None:
        corrected = payment.correction
        shown["correction"] = {"outcome": corrected.outcome, "correctedAt": clock.iso(corrected.corrected_at)}
    facts = [_fact(each) for each in receipt.facts] + [_pending(each) for each in receipt.pending]
    return shown | {"url": url, "facts": facts}


def merchant_of(receipt: Receipt) -> Merchant:
    """The merchant by the name with which the log has recorded the payment, which is proven. Without such a fact, its
    name of today."""
    text = next((each.kept.fact for each in receipt.facts if each.kept.fact is not None), None)
    if text is None:
        return receipt.merchant
    fact = decode(text)
    return Merchant(fact.merchant, fact.merchant_name, fact.merchant_registered_name, fact.merchant_tin)


def _fact(proven: ProvenFact) -> View:
    """A fact. If it was erased, it has no salt and no text."""
    kept = proven.kept
    return {
        "kind": kept.kind,
        "fact": kept.fact,
        "salt": None if kept.salt is None else kept.salt.hex(),
        "proof": None if proven.proof is None else str(proven.proof),
    }


def _pending(kind: Kind) -> View:
    """The facts that are not in the log yet: a verifier reports them, and does not compare this receipt with older
    facts."""
    return {"kind": kind, "fact": None, "salt": None, "proof": None}

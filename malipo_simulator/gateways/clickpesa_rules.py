"""ClickPesa's rules: formats of fields, the JSON of a payment, and the bytes of a checksum."""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from typing import Any

from malipo_simulator.behaviour import Outcome, PaymentKind
from malipo_simulator.subscriber_names import subscriber_of
from malipo_simulator.transaction import Transaction

CHANNELS = {"MPESA": "M-PESA", "AIRTEL_MONEY": "AIRTEL-MONEY", "TIGO_PESA": "TIGO-PESA", "HALOPESA": "HALOPESA"}
REFUSALS: Mapping[Outcome | None, str] = {
    Outcome.NOT_REGISTERED: "Receiver account is not registered",
    Outcome.FLOAT_TOO_LOW: "Insufficient balance",
}
# All else is FAILED.
STATUS_OF: Mapping[Outcome | None, str] = {Outcome.SUCCESS: "SUCCESS", Outcome.REVERSED: "REVERSED"}
BAD_PHONE = "Invalid / unsupported phone number"
_MESSAGES: Mapping[Outcome | None, str] = {
    None: "Payment is being processed",
    Outcome.SUCCESS: "Payment successful",
    Outcome.DECLINED: "Customer declined",
    Outcome.BALANCE_TOO_LOW: "Insufficient balance",
    Outcome.EXPIRED: "Customer did not respond",
    Outcome.FAILED: "Failed",
    Outcome.REVERSED: "Payment reversed",
}
# The merchant's fee for a payout, so that its amount is never the order's.
_PAYOUT_FEE = 100

_REFERENCE = re.compile("[0-9A-Za-z]{1,64}", re.ASCII)
_ANY_PHONE = "255712345678"
_PHONE = re.compile("255[67][0-9]{8}", re.ASCII)


def checksum(payload: Mapping[str, Any], secret: str, form: str) -> str:
    fields = {name: value for name, value in payload.items() if name not in ("checksum", "checksumMethod")}
    if form == "values":
        text = "".join(str(fields[name]) for name in sorted(fields))
    else:
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()


def wrong_with(kind: PaymentKind, body: Mapping[str, Any], *, is_preview: bool) -> str | None:
    """The message about the first bad field. There is none about the checksum. A preview needs only amount and
    order."""
    if is_preview:
        body = {"currency": "TZS", "phoneNumber": _ANY_PHONE, **body}
    amount, reference, phone = body.get("amount"), body.get("orderReference"), body.get("phoneNumber")
    is_text = isinstance(amount, str) and re.fullmatch("[0-9]{1,10}", amount, re.ASCII)
    is_right = is_text if kind is PaymentKind.COLLECTION else type(amount) is int
    if not is_right or not 0 < int(amount or 0) < 10**10:
        return f"amount must be a {'string' if kind is PaymentKind.COLLECTION else 'number'} of whole shillings"
    if body.get("currency") != "TZS":
        return "currency must be TZS"
    if not isinstance(reference, str) or not _REFERENCE.fullmatch(reference):
        return "orderReference must be alphanumeric"
    if not isinstance(phone, str) or not _PHONE.fullmatch(phone):
        return BAD_PHONE
    return None


def payment_parts(transaction: Transaction, *, is_new: bool) -> dict[str, Any]:
    parts = {
        "channel": CHANNELS[transaction.channel],
        "collectedAmount": str(transaction.amount),
        "collectedCurrency": "TZS",
    }
    if is_new:
        return parts
    return parts | {
        "paymentReference": transaction.receipt if transaction.has_moved else "",
        "paymentPhoneNumber": transaction.phone[1:],
        "message": _MESSAGES[transaction.outcome],
    }


def payout_parts(channel: str, phone: str, amount: int) -> dict[str, Any]:
    return {
        "amount": amount + _PAYOUT_FEE,
        "currency": "TZS",
        "fee": _PAYOUT_FEE,
        "channel": "MOBILE MONEY",
        "channelProvider": CHANNELS[channel],
        "order": {"amount": amount, "currency": "TZS"},
        "beneficiary": {"accountNumber": phone[1:], "accountName": subscriber_of(phone).name, "amount": amount},
    }


def preview(kind: PaymentKind, amount: int, channel: str | None = None, phone: str = "") -> dict[str, Any]:
    """A preview. Without a phone it is the preview for any phone. That of a payout names the owner of the phone."""
    if kind is PaymentKind.COLLECTION:
        names = CHANNELS.values() if channel is None else [CHANNELS[channel]]
        return {"activeMethods": [{"name": name, "status": "AVAILABLE", "fee": 0} for name in names]}
    parts = payout_parts(channel or "MPESA", phone, amount)
    shown = ("amount", "fee", "order") if channel is None else ("amount", "channelProvider", "fee", "order")
    more = {} if channel is None else {"receiver": parts["beneficiary"]}
    return {
        **{name: parts[name] for name in shown},
        "balance": 1_000_000_000,
        "payoutFeeBearer": "merchant",
        **more,
    }

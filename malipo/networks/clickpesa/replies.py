"""Parses ClickPesa's replies: to a payment, to a query. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from malipo.networks.answers import misconfigured, nothing_sent
from malipo.networks.clickpesa import codes
from malipo.networks.code_meanings import answer_of
from malipo.networks.connector import Answer, Balance, Channel, PaymentInstruction, Recipient, Verdict
from malipo.networks.http.client import Reply, amount_of, receipt_of, text_of, token_of
from malipo.networks.person_name import name_in
from malipo.networks.text import reason_in, shillings_in
from malipo.networks.token_cache import Token

NETWORK = "ClickPesa"
_CURRENCY = "TZS"
_TOKEN_SECONDS = 3600 - 60
# How the name of a provider begins, in capital letters without anything between them.
_PROVIDERS = {
    Channel.MPESA: ("MPESA", "VODA"),
    Channel.TIGO_PESA: ("TIGO", "MIXX", "YAS"),
    Channel.AIRTEL_MONEY: ("AIRTEL",),
    Channel.HALOPESA: ("HALO",),
}


def of_token(reply: Reply) -> Token | Answer:
    fields = reply.json() or {}
    # It begins with "Bearer " already.
    value = fields.get("token")
    token = token_of(value.removeprefix("Bearer").strip() if isinstance(value, str) else None)
    if token and reply.status < 300:
        return token, _TOKEN_SECONDS
    if reply.status in (400, 401, 403) and text_of(fields.get("message")):
        return misconfigured(NETWORK, f"HTTP {reply.status}", text_of(fields["message"]))
    return nothing_sent(f"HTTP {reply.status}")


def of_payment(reply: Reply, instruction: PaymentInstruction) -> Answer:
    if reply.status == 429:
        return nothing_sent("HTTP 429")  # The same reference is never paid twice.
    fields = reply.json()
    if fields is None or reply.is_fault:
        return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", is_fault=True)
    if reply.status < 300:
        return _about(instruction, fields) or Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}")
    # A message that is no text says nothing.
    message = text_of(fields["message"]) if isinstance(fields.get("message"), str) else ""
    error = codes.error_of(reply.status, message)
    return answer_of(NETWORK, codes.ERRORS[instruction.type], error, message, shown=f"HTTP {reply.status}")


def of_query(reply: Reply, instruction: PaymentInstruction) -> Answer:
    fields = _first(reply.body)
    if fields is None or reply.is_fault:
        # An empty list is an answer, if not one that says anything.
        is_fault = reply.is_fault or reply.body.strip() != b"[]"
        return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", is_fault=is_fault)
    message = text_of(fields.get("message"))
    if reply.status >= 300:
        # 404 may mean the reference or a feature of the account: it says nothing about the payment.
        return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", detail=message)
    return _about(instruction, fields) or Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", detail=message)


def of_balance(reply: Reply) -> Balance:
    """A list of balances, or an object that has one. Of our currency there must be exactly one."""
    try:
        content = msgspec.json.decode(reply.body)
    except (ValueError, RecursionError):
        content = None
    found = content.get("balances") if isinstance(content, dict) else content
    if reply.status != 200 or not isinstance(found, list):
        message = content.get("message") if isinstance(content, dict) else ""
        return Balance(code=f"HTTP {reply.status}", detail=text_of(message))
    ours = [each for each in found if isinstance(each, dict) and text_of(each.get("currency")) == _CURRENCY]
    if len(ours) != 1:
        return Balance(code="currency", detail=f"{len(ours)} balances of {_CURRENCY}")
    return Balance(amount=shillings_in(ours[0].get("balance")), code="balance", detail=text_of(ours[0].get("balance")))


def of_name(reply: Reply, channel: Channel, number: str) -> Recipient:
    """The receiver of a payout that is not made. They choose the network by the number: another's name is none."""
    fields = reply.json()
    if fields is None or reply.is_fault:
        return Recipient(code=f"HTTP {reply.status}")
    message = text_of(fields.get("message")) if isinstance(fields.get("message"), str) else ""
    if reply.status == 400 and codes.NOT_REGISTERED.search(message):
        return Recipient(is_registered=False, code="HTTP 400", detail=message)
    receiver = fields.get("receiver")
    if reply.status != 200 or not isinstance(receiver, dict):
        return Recipient(code=f"HTTP {reply.status}", detail=message)
    if text_of(receiver.get("accountNumber")).removeprefix("+") not in ("", number):
        return Recipient(code="another number's")
    provider = "".join(filter(str.isalnum, text_of(fields.get("channelProvider")))).upper()
    if not provider.startswith(_PROVIDERS[channel]):
        return Recipient(code="another network's", detail=provider)
    name = name_in(receiver.get("accountName"))
    return Recipient(name=name, is_registered=True if name else None, code="preview")


def _about(instruction: PaymentInstruction, fields: Mapping[str, Any]) -> Answer | None:
    """The part of the reply that is about this payment."""
    if text_of(fields.get("orderReference")) not in ("", instruction.key):
        return Answer(verdict=Verdict.UNKNOWN, code="another payment's")
    status = text_of(fields.get("status")).upper()
    if status not in codes.STATUSES:
        return None
    return with_particulars(answer_of(NETWORK, codes.STATUSES, status, text_of(fields.get("message"))), fields)


def with_particulars(answer: Answer, fields: Mapping[str, Any]) -> Answer:
    if not answer.verdict.is_definite:
        return answer
    is_paid, amount = answer.verdict is Verdict.CONFIRMED, _amount(fields)
    return replace(
        answer,
        provider_reference=receipt_of(fields.get("paymentReference"), fields.get("id")) if is_paid else None,
        failure_code=None if is_paid else reason_in(answer.detail),
        amount=amount,
        lacks_amount=is_paid and amount is None,
        phone=_phone(fields),
    )


def _amount(fields: Mapping[str, Any]) -> int | None:
    """The amount that the customer paid or got. The `amount` of a payout includes ClickPesa's fee, so it is not
    read."""
    order = fields.get("order")
    collected = amount_of(fields.get("collectedAmount"))
    return amount_of(order.get("amount")) if collected is None and isinstance(order, dict) else collected


def _phone(fields: Mapping[str, Any]) -> str | None:
    beneficiary = fields.get("beneficiary")
    account = beneficiary.get("accountNumber") if isinstance(beneficiary, dict) else None
    number = text_of(fields.get("paymentPhoneNumber") or account).removeprefix("+")
    return f"+{number}" if number else None


def _first(body: bytes) -> dict[str, Any] | None:
    """A collection is answered with a list, a payout with an object or a list."""
    try:
        content = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None
    if isinstance(content, list):
        content = content[0] if content else None
    return content if isinstance(content, dict) else None

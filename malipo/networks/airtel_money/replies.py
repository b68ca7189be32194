"""Parses Airtel's replies: to a payment, to an enquiry, and the letters of a transaction. Pure.

What counts, in this order: a fault of HTTP says nothing; then the letters of the transaction; then the response code;
then the older result code.
"""

from typing import Any

from msgspec.structs import replace

from malipo.networks.airtel_money import codes
from malipo.networks.answers import misconfigured, nothing_sent
from malipo.networks.code_meanings import Table, answer_of
from malipo.networks.connector import Answer, Balance, PaymentInstruction, Recipient, Type, Verdict
from malipo.networks.http.client import Reply, receipt_of, seconds_of, text_of, token_of
from malipo.networks.person_name import name_in
from malipo.networks.text import shillings_in
from malipo.networks.token_cache import Token

NETWORK = "Airtel Money"
_NO_SUCH_USER = "DP02200000002"
_TOKEN_MARGIN_SECONDS = 30


def of_token(reply: Reply) -> Token | Answer:
    fields = reply.json() or {}
    if token := token_of(fields.get("access_token")):
        return token, seconds_of(fields.get("expires_in")) - _TOKEN_MARGIN_SECONDS
    if reply.status in (400, 401, 403) and text_of(fields.get("error")):
        return misconfigured(NETWORK, f"HTTP {reply.status}", text_of(fields.get("error_description")))
    return nothing_sent(f"HTTP {reply.status}")


def of_payment(reply: Reply, instruction: PaymentInstruction) -> Answer:
    if reply.status == 429:
        return nothing_sent("HTTP 429")  # The same id is never paid twice.
    fields = reply.json()
    if fields is None or reply.is_fault:
        return Answer(verdict=Verdict.UNKNOWN, code=_status_code(fields, reply), is_fault=True)
    if _is_anothers(fields, instruction):
        return Answer(verdict=Verdict.UNKNOWN, code="another payment's")
    response, _ = _codes(fields)
    if instruction.type is Type.DISBURSEMENT and (answer := of_letters(_transaction(fields), "status", response)):
        return answer
    return _of_code(codes.REPLIES[instruction.type], reply, fields, has_alert=True)


def of_query(reply: Reply, instruction: PaymentInstruction) -> Answer:
    fields = reply.json()
    if fields is None or reply.is_fault:
        return Answer(verdict=Verdict.UNKNOWN, code=_status_code(fields, reply), is_fault=True)
    if _is_anothers(fields, instruction):
        return Answer(verdict=Verdict.UNKNOWN, code="another payment's")
    if answer := of_letters(_transaction(fields), "status", _codes(fields)[0]):
        return answer
    answer = _of_code(codes.ENQUIRIES[instruction.type], reply, fields)
    if reply.status >= 400 and answer.verdict is not Verdict.MISSING:
        # The query was refused; that says nothing about the payment. A 404 alone may only mean a wrong path.
        return Answer(verdict=Verdict.UNKNOWN, code=answer.code, detail=answer.detail)
    return answer


def of_balance(reply: Reply, currency: str) -> Balance:
    """The balance, which Airtel writes as grouped text ("1,234.00"). None if the reply refuses, or has another
    currency."""
    fields = reply.json() or {}
    data = fields.get("data")
    if reply.status != 200 or _status(fields).get("success") is False or not isinstance(data, dict):
        return Balance(code=_status_code(fields, reply), detail=text_of(_status(fields).get("message")))
    if text_of(data.get("currency")) != currency:
        return Balance(code="currency", detail=text_of(data.get("currency")))
    return Balance(amount=shillings_in(data.get("balance")), code="balance", detail=text_of(data.get("balance")))


def of_name(reply: Reply, number: str) -> Recipient:
    """The owner of a number, from a reply. Only Airtel's own code reports that a number has no account: a 404 alone may
    be a wrong path."""
    fields = reply.json()
    if fields is None or reply.is_fault:
        return Recipient(code=_status_code(fields, reply))
    if _NO_SUCH_USER in _codes(fields):
        return Recipient(is_registered=False, code=_NO_SUCH_USER)
    data = fields.get("data")
    if reply.status != 200 or _status(fields).get("success") is False or not isinstance(data, dict):
        return Recipient(code=_status_code(fields, reply), detail=text_of(_status(fields).get("message")))
    if (msisdn := text_of(data.get("msisdn"))) and not msisdn.endswith(number):
        return Recipient(code="another number's")
    name = name_in(data.get("first_name"), data.get("last_name"))
    is_barred, has_pin = data.get("is_barred"), data.get("is_pin_set")
    return Recipient(
        name=name,
        is_registered=True if name else None,
        # Without a PIN an account takes no payments either.
        is_barred=True if is_barred is True or has_pin is False else False if is_barred is False else None,
        code=_status_code(fields, reply),
    )


def _of_code(table: Table, reply: Reply, fields: dict[str, Any], *, has_alert: bool = False) -> Answer:
    """The older code only counts where the newer is missing. A success must also call itself one."""
    response, result = _codes(fields)
    code, detail = response or result or f"HTTP {reply.status}", text_of(_status(fields).get("message"))
    answer = answer_of(NETWORK, table, code, detail)
    if code not in table and has_alert:
        alert = f"{NETWORK} answers with what we do not know: {code} {detail}".strip()
        return replace(answer, alert=alert)
    if answer.verdict is not Verdict.CONFIRMED:
        return answer
    if _status(fields).get("success") is not True:
        return Answer(verdict=Verdict.UNKNOWN, code=code, detail=detail)
    return replace(answer, provider_reference=_receipt(_transaction(fields)))


def _is_anothers(fields: dict[str, Any], instruction: PaymentInstruction) -> bool:
    """Airtel repeats our id, where it repeats anything."""
    return text_of(_transaction(fields).get("id")) not in ("", instruction.key)


def of_letters(transaction: dict[str, Any], name: str, response: str = "") -> Answer | None:
    """TS, TF, TE, TIP, TA or TR. A receipt alone is no success, and a response code does not undo one."""
    letters = text_of(transaction.get(name)).upper()
    if letters not in codes.LETTERS:
        return None
    answer = answer_of(NETWORK, codes.LETTERS, letters, text_of(transaction.get("message")))
    if answer.verdict is Verdict.CONFIRMED:
        return replace(answer, provider_reference=_receipt(transaction))
    reason = codes.REASONS.get(text_of(transaction.get("code")) or response)
    if answer.verdict is not Verdict.REFUSED or reason is None or reason.failure_code is None:
        return answer
    alert = f"{NETWORK}: {reason.says} ({letters} {answer.detail})." if reason.has_alert else answer.alert
    return replace(answer, failure_code=reason.failure_code, alert=alert)


def _transaction(fields: dict[str, Any]) -> dict[str, Any]:
    data = fields.get("data")
    transaction = data.get("transaction") if isinstance(data, dict) else None
    return transaction if isinstance(transaction, dict) else {}


def _status(fields: dict[str, Any]) -> dict[str, Any]:
    status = fields.get("status")
    return status if isinstance(status, dict) else {}


def _codes(fields: dict[str, Any]) -> tuple[str, str]:
    return text_of(_status(fields).get("response_code")), text_of(_status(fields).get("result_code"))


def _status_code(fields: dict[str, Any] | None, reply: Reply) -> str:
    return (_codes(fields)[0] if fields else "") or f"HTTP {reply.status}"


def _receipt(transaction: dict[str, Any]) -> str | None:
    return receipt_of(transaction.get("reference_id"), transaction.get("airtel_money_id"))

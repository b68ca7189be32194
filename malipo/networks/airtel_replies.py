"""What Airtel's replies say: to a payment, to an enquiry, and in the letters of a transaction. Pure.

What counts, in this order: a fault of HTTP says nothing; then the letters of the transaction; then the response code;
then the older result code.
"""

from typing import Any

from malipo.networks import airtel_codes as codes
from malipo.networks.authorised import turned_away
from malipo.networks.contract import Answer, Order, Type, Verdict
from malipo.networks.wire import Reply, receipt_of, text_of


def of_payment(reply: Reply, order: Order) -> Answer:
    if reply.status == 429:
        return turned_away("HTTP 429")  # The same id is never paid twice.
    said = reply.json()
    if said is None or reply.is_fault:
        return Answer(verdict=Verdict.UNKNOWN, code=_status_code(said, reply), is_fault=True)
    if _is_anothers(said, order):
        return Answer(verdict=Verdict.UNKNOWN, code="another payment's")
    transaction = _transaction(said)
    response, result = _codes(said)
    if order.type is Type.DISBURSEMENT and (answer := of_letters(transaction, "status", response)):
        return answer
    if order.type is Type.COLLECTION and response == codes.SUCCESS[Type.COLLECTION]:
        # On the request itself even this only says that the prompt was sent.
        return Answer(verdict=Verdict.WAITING, code=response)
    if response in codes.SUCCESS.values():
        return _of_success(said, response, order)
    return codes.answer_of(response, result, _message(said)) or _of_http(reply, said)


def of_enquiry(reply: Reply, order: Order) -> Answer:
    said = reply.json()
    if said is None or reply.is_fault:
        return Answer(verdict=Verdict.UNKNOWN, code=_status_code(said, reply), is_fault=True)
    if _is_anothers(said, order):
        return Answer(verdict=Verdict.UNKNOWN, code="another payment's")
    response, result = _codes(said)
    if answer := of_letters(_transaction(said), "status", response):
        return answer
    if response in codes.MISSING or result in codes.MISSING:
        return Answer(verdict=Verdict.MISSING, code=response or result, detail=_message(said))
    if reply.status == 404 and isinstance(said.get("status"), dict):
        return Answer(verdict=Verdict.MISSING, code="HTTP 404", detail=_message(said))
    if response in codes.SUCCESS.values():
        return _of_success(said, response, order)
    answer = codes.answer_of(response, result, _message(said))
    if answer is None or codes.is_misconfigured(answer.code) or reply.status >= 400:
        # The question was refused; that says nothing of the payment.
        return Answer(verdict=Verdict.UNKNOWN, code=response or result or f"HTTP {reply.status}", detail=_message(said))
    return answer


def _of_success(said: dict[str, Any], response: str, order: Order) -> Answer:
    """A code says that it was done. It must be the code of this kind of order, and the reply must call itself good."""
    if response != codes.SUCCESS[order.type] or _status(said).get("success") is not True:
        return Answer(verdict=Verdict.UNKNOWN, code=response, detail=_message(said))
    return Answer(
        verdict=Verdict.CONFIRMED,
        code=response,
        detail=_message(said),
        provider_reference=_receipt(_transaction(said)),
    )


def _is_anothers(said: dict[str, Any], order: Order) -> bool:
    """Airtel repeats our id, where it repeats anything."""
    return text_of(_transaction(said).get("id")) not in ("", order.key)


def of_letters(transaction: dict[str, Any], name: str, response: str = "") -> Answer | None:
    """TS, TF, TE, TIP, TA or TR. A receipt alone is no success, and a response code does not undo one."""
    letters = text_of(transaction.get(name)).upper()
    detail = text_of(transaction.get("message"))
    match letters:
        case "TS":
            return Answer(
                verdict=Verdict.CONFIRMED, code=letters, detail=detail, provider_reference=_receipt(transaction)
            )
        case "TF" | "TE" | "TR":
            code = _code(transaction) or response
            return Answer(
                verdict=Verdict.REFUSED,
                code=letters,
                detail=detail,
                failure_code=codes.failure_of(code) or codes.LETTERS[letters],
                alert=codes.alert_of(code, letters),
            )
        case "TIP":
            return Answer(verdict=Verdict.WAITING, code=letters, detail=detail)
        case "TA":
            return Answer(verdict=Verdict.UNKNOWN, code=letters, detail=detail)
    return None


def _of_http(reply: Reply, said: dict[str, Any]) -> Answer:
    """No code that we know. Whatever HTTP says, that is no word of the payment, and somebody should look."""
    response, result = _codes(said)
    code = response or result or f"HTTP {reply.status}"
    alert = f"Airtel Money answers with what we do not know: {code} {_message(said)}".strip()
    return Answer(verdict=Verdict.UNKNOWN, code=code, detail=_message(said), alert=alert)


def _transaction(said: dict[str, Any]) -> dict[str, Any]:
    data = said.get("data")
    transaction = data.get("transaction") if isinstance(data, dict) else None
    return transaction if isinstance(transaction, dict) else {}


def _status(said: dict[str, Any]) -> dict[str, Any]:
    status = said.get("status")
    return status if isinstance(status, dict) else {}


def _codes(said: dict[str, Any]) -> tuple[str, str]:
    return text_of(_status(said).get("response_code")), text_of(_status(said).get("result_code"))


def _code(transaction: dict[str, Any]) -> str:
    return text_of(transaction.get("code"))


def _message(said: dict[str, Any]) -> str:
    return text_of(_status(said).get("message"))


def _status_code(said: dict[str, Any] | None, reply: Reply) -> str:
    return (_codes(said)[0] if said else "") or f"HTTP {reply.status}"


def _receipt(transaction: dict[str, Any]) -> str | None:
    return receipt_of(transaction.get("reference_id"), transaction.get("airtel_money_id"))

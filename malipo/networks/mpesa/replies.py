"""Parses M-Pesa's replies: to a payment, to a query, to the request for a session. Pure.

Verdicts are read from the code, not from the HTTP status: 401 stands for "wrong PIN" here as well as for "no session".
"""

from typing import Any

from msgspec.structs import replace

from malipo.networks.answers import misconfigured, nothing_sent
from malipo.networks.code_meanings import answer_of
from malipo.networks.connector import Answer, PaymentInstruction, Verdict
from malipo.networks.http.client import Reply, is_true, receipt_of, text_of
from malipo.networks.mpesa import codes

NETWORK = "M-Pesa"
# With one of these statuses the gateway has taken nothing in. 408 and 409 may come after it took a payment in.
GATEWAY_REJECTIONS = {400, 401, 403, 404, 405, 415, 422}


def of_payment(reply: Reply, instruction: PaymentInstruction) -> Answer:
    fields = reply.json()
    if fields is None:
        return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", is_fault=True)
    code, detail = text_of(fields.get("output_ResponseCode")), text_of(fields.get("output_ResponseDesc"))
    if not code and reply.status == 429:
        return nothing_sent("HTTP 429")  # The same id is never paid twice.
    if not code and (words := trouble(fields)) and reply.status in GATEWAY_REJECTIONS:
        return misconfigured(NETWORK, f"HTTP {reply.status}", words)
    if receipt_of(fields.get("output_ThirdPartyConversationID")) not in (None, instruction.key):
        return Answer(verdict=Verdict.UNKNOWN, code="another payment's", detail=code)
    if reply.status >= 500:
        return Answer(verdict=Verdict.UNKNOWN, code=code or f"HTTP {reply.status}", detail=detail, is_fault=True)
    answer = answer_of(NETWORK, codes.REPLIES[instruction.type], code or f"HTTP {reply.status}", detail)
    if answer.verdict is not Verdict.CONFIRMED:
        return answer
    receipt = receipt_of(fields.get("output_TransactionID"))
    verdict = Verdict.WAITING if receipt is None else Verdict.CONFIRMED
    return replace(answer, verdict=verdict, provider_reference=receipt)


def of_query(reply: Reply) -> Answer:
    fields = reply.json()
    if fields is None or reply.is_fault:
        return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", is_fault=True)
    code, detail = text_of(fields.get("output_ResponseCode")), text_of(fields.get("output_ResponseDesc"))
    word = text_of(fields.get("output_ResponseTransactionStatus"))
    if code != "INS-0" and word.lower() in codes.WORDS:
        return Answer(verdict=Verdict.UNKNOWN, code=code, detail=f"{word}: {detail}")  # It contradicts itself.
    if code != "INS-0":
        return answer_of(NETWORK, codes.QUERIES, code or f"HTTP {reply.status}", detail)
    # INS-0 only says that the query was answered.
    answer = answer_of(NETWORK, codes.WORDS, word.lower(), detail, shown=word)
    if answer.verdict is not Verdict.CONFIRMED:
        return answer
    if is_true(fields.get("output_Reversed")):
        return answer_of(NETWORK, codes.WORDS, "reversed", detail, shown="Reversed")
    receipt = receipt_of(fields.get("output_OriginalTransactionID"), fields.get("output_TransactionID"))
    return replace(answer, provider_reference=receipt)


def of_no_session(reply: Reply) -> Answer:
    """The answer if there is no session: no payment was sent, whatever the reason."""
    fields = reply.json() or {}
    code, words = text_of(fields.get("output_ResponseCode")), trouble(fields)
    detail = text_of(fields.get("output_ResponseDesc")) or words
    if reply.status in GATEWAY_REJECTIONS and (code in codes.SESSION or (words and not code)):
        return misconfigured(NETWORK, code or f"HTTP {reply.status}", detail)
    return nothing_sent(code or f"HTTP {reply.status}", detail)


def trouble(fields: dict[str, Any]) -> str:
    """The gateway's complaint in words. A number in its place is no complaint."""
    error = fields.get("output_error")
    return text_of(error) if isinstance(error, str) else ""


def of_refused_session(reply: Reply) -> Answer | None:
    """A session may take half a minute to become valid. The gateway rejected us, so nothing was accepted."""
    complaint = _session_trouble(reply)
    return nothing_sent("session", complaint) if complaint else None


def _session_trouble(reply: Reply) -> str:
    """The gateway's message about our session, if it rejected us because of that."""
    if not 400 <= reply.status < 500:
        return ""
    fields = reply.json() or {}
    words = trouble(fields)
    return words if "session" in words.lower() and not fields.get("output_ResponseCode") else ""

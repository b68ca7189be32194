"""Parses Tigo Pesa's replies: to a push, to a payout, to a query. Pure.

A reference is ours with the biller's code before it: the connector knows it.
"""

from msgspec.structs import replace

from malipo.networks.answers import misconfigured, nothing_sent
from malipo.networks.code_meanings import Table, answer_of
from malipo.networks.connector import Answer, Verdict
from malipo.networks.http import xml
from malipo.networks.http.client import Reply, amount_of, receipt_of, seconds_of, text_of, token_of
from malipo.networks.tigo_pesa import codes
from malipo.networks.token_cache import Token

NETWORK = "Tigo Pesa"
_TOKEN_MARGIN_SECONDS = 30


def of_token(reply: Reply) -> Token | Answer:
    fields = reply.json() or {}
    # Some gateways answer an error with 200, so only the token itself counts.
    if token := token_of(fields.get("access_token")):
        return token, seconds_of(fields.get("expires_in")) - _TOKEN_MARGIN_SECONDS
    if not reply.is_fault and text_of(fields.get("error")):
        return misconfigured(NETWORK, text_of(fields["error"]), text_of(fields.get("error_description")))
    return nothing_sent(f"HTTP {reply.status}")


def of_push(reply: Reply, reference: str) -> Answer:
    fields = reply.json()
    if fields is None or reply.is_fault:
        return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", is_fault=True)
    code, detail = text_of(fields.get("ResponseCode")), text_of(fields.get("ResponseDescription"))
    if receipt_of(fields.get("ReferenceID")) not in (None, reference):
        return Answer(verdict=Verdict.UNKNOWN, code="another payment's", detail=code)
    if "duplicate" in f"{code} {detail} {text_of(fields.get('Message'))}".lower():
        # No code for it is published. It has this reference already, and the first may have been paid.
        return Answer(verdict=Verdict.UNKNOWN, code=code, detail=detail)
    answer = answer_of(NETWORK, codes.PUSHES, code or f"HTTP {reply.status}", detail)
    if (answer.verdict is Verdict.WAITING) != (fields.get("ResponseStatus") is True):
        return Answer(verdict=Verdict.UNKNOWN, code=answer.code, detail=detail)  # It contradicts itself.
    return answer


def of_payout(reply: Reply, reference: str) -> Answer:
    fields = xml.read(reply.body)
    if fields is None or reply.is_fault:
        return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", is_fault=True)
    if receipt_of(fields.get("referenceid")) not in (None, reference):
        return Answer(verdict=Verdict.UNKNOWN, code="another payment's")
    status, detail = fields.get("txnstatus", ""), text_of(fields.get("message"))
    shown = text_of(status) or f"HTTP {reply.status}"
    answer = answer_of(NETWORK, codes.PAYOUTS, _plain(status), detail, shown=shown)
    if answer.verdict is Verdict.CONFIRMED:
        return replace(answer, provider_reference=receipt_of(fields.get("txnid")))
    # A page without any status is not theirs: a fault.
    return replace(answer, is_fault=not status)


def of_query(reply: Reply, reference: str, results: Table) -> Answer:
    """A result other than 0 says that there is no such payment only if it is on the operator's list."""
    fields = xml.read(reply.body)
    if fields is None or reply.is_fault:
        return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", is_fault=True)
    if receipt_of(fields.get("externalrefid")) not in (None, reference):
        return Answer(verdict=Verdict.UNKNOWN, code="another payment's")
    result, detail = _plain(text_of(fields.get("resultcode"))), text_of(fields.get("resultdesc"))
    word = text_of(fields.get("txnstatus"))
    if not result:
        return Answer(verdict=Verdict.UNKNOWN, code=word or f"HTTP {reply.status}", detail=detail, is_fault=True)
    if result != "0" and word.lower() in codes.WORDS:
        return Answer(verdict=Verdict.UNKNOWN, code=result, detail=f"{word}: {detail}")  # It contradicts itself.
    if result != "0":
        return answer_of(NETWORK, results, result, detail)
    answer = answer_of(NETWORK, codes.WORDS, word.lower(), detail, shown=word or f"HTTP {reply.status}")
    if not answer.verdict.is_definite:
        return answer
    amount, is_paid = amount_of(fields.get("amount")), answer.verdict is Verdict.CONFIRMED
    receipt = receipt_of(fields.get("txnid")) if is_paid else None
    lacks = is_paid and amount is None
    return replace(answer, amount=amount, lacks_amount=lacks, provider_reference=receipt)


def _plain(code: str) -> str:
    """The code without leading zeros: the same one comes with them and without."""
    return code.lstrip("0") or ("0" if code else "")

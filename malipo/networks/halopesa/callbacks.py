"""HaloPesa's callbacks, in XML: the result of a push. They are unsigned; only one with the type FIN is final. Pure."""

from msgspec.structs import replace

from malipo.networks.code_meanings import Table, answer_of
from malipo.networks.connector import Acknowledgement, Answer, Callback, CallbackReport, FailureCode, Verdict
from malipo.networks.halopesa.replies import NETWORK
from malipo.networks.http import xml
from malipo.networks.http.client import amount_of, key_of, receipt_of, text_of
from malipo.networks.text import reason_in


def read(callback: Callback, results: Table) -> CallbackReport | None:
    fields = xml.read(callback.body) or {}
    key, code = key_of(fields.get("referenceid")), text_of(fields.get("response_code"))
    if not key or not code:
        return None
    detail = text_of(fields.get("message"))
    answer = answer_of(NETWORK, results, code, detail)
    if answer.failure_code is FailureCode.REJECTED and not answer.refuses_us:
        answer = replace(answer, failure_code=reason_in(detail))
    if fields.get("response_type", "").upper() != "FIN":
        # Not final, whatever the code.
        verdict = Verdict.WAITING if code in results else Verdict.UNKNOWN
        answer = Answer(verdict=verdict, code=code, detail=detail)
    is_paid = answer.verdict is Verdict.CONFIRMED
    receipt = receipt_of(fields.get("addition_data")) if is_paid else None
    answer = replace(answer, amount=amount_of(fields.get("amount")), provider_reference=receipt)
    return CallbackReport(key=key, answer=answer, is_signed=False)


def acknowledge(report: CallbackReport | None, now: str) -> Acknowledgement:
    is_read = report is not None
    fields = {
        "responseType": "ACK",
        "response_code": "0" if is_read else "9001",
        "message": "Received" if is_read else "The result could not be read",
        "ReferenceID": report.key if report is not None else "",
        "ResponseTime": now,
    }
    body = f'<?xml version="1.0"?><response>{xml.elements(fields)}</response>'.encode()
    return Acknowledgement(status=200 if is_read else 400, body=body, media_type="text/xml")

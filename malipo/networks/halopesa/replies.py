"""Parses HaloPesa's reply to a push. Pure."""

from msgspec.structs import replace

from malipo.networks.code_meanings import answer_of
from malipo.networks.connector import Answer, PaymentInstruction, Verdict
from malipo.networks.halopesa import codes
from malipo.networks.http import xml
from malipo.networks.http.client import Reply, receipt_of, text_of

NETWORK = "HaloPesa"


def of_push(reply: Reply, instruction: PaymentInstruction) -> Answer:
    fields = xml.read(reply.body)
    if fields is None or reply.is_fault:
        return Answer(verdict=Verdict.UNKNOWN, code=f"HTTP {reply.status}", is_fault=True)
    if receipt_of(fields.get("referenceid")) not in (None, instruction.key):
        return Answer(verdict=Verdict.UNKNOWN, code="another payment's")
    code, detail = text_of(fields.get("response_code")), text_of(fields.get("message"))
    answer = answer_of(NETWORK, codes.REPLIES, code or f"HTTP {reply.status}", detail)
    # A page without any code is not theirs: a fault.
    return replace(answer, is_fault=not code)

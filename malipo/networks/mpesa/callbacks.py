"""M-Pesa's callbacks: the result of a payment, which carries no amount. They are unsigned, so they are hints. Pure."""

from typing import Any

import msgspec
from msgspec.structs import replace

from malipo.networks.code_meanings import answer_of
from malipo.networks.connector import Acknowledgement, Answer, Callback, CallbackReport, Verdict
from malipo.networks.http.client import json_object, key_of, receipt_of, text_of
from malipo.networks.mpesa import codes
from malipo.networks.mpesa.replies import NETWORK

_encode = msgspec.json.Encoder().encode


def read(callback: Callback) -> CallbackReport | None:
    fields = json_object(callback.body) or {}
    key, answer = key_of(fields.get("input_ThirdPartyConversationID")), _answer(fields)
    return CallbackReport(key=key, answer=answer, is_signed=False) if key and answer else None


def _answer(fields: dict[str, Any]) -> Answer | None:
    code, detail = text_of(fields.get("input_ResultCode")), text_of(fields.get("input_ResultDesc"))
    if not code:
        return None
    answer = answer_of(NETWORK, codes.CALLBACKS, code, detail)
    if answer.verdict is not Verdict.CONFIRMED:
        return answer
    return replace(answer, provider_reference=receipt_of(fields.get("input_TransactionID")))


def acknowledge(callback: Callback, report: CallbackReport | None) -> Acknowledgement:
    fields = json_object(callback.body) or {}
    is_read = report is not None
    body = {
        "output_OriginalConversationID": text_of(fields.get("input_OriginalConversationID")),
        "output_ResponseCode": "0" if is_read else "1",
        "output_ResponseDesc": "Successfully Accepted Result" if is_read else "The result could not be read",
        "output_ThirdPartyConversationID": text_of(fields.get("input_ThirdPartyConversationID")),
    }
    return Acknowledgement(status=200 if is_read else 400, body=_encode(body))

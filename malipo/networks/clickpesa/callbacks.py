"""ClickPesa's webhook events, and what each means. Pure.

An event with a right checksum ends a payment; without one it is a hint. There is none for a payout that is done.
"""

import hmac
from collections.abc import Mapping
from typing import Any

from malipo.networks.clickpesa import codes
from malipo.networks.clickpesa.checksum import checksum_of
from malipo.networks.clickpesa.replies import NETWORK, with_particulars
from malipo.networks.code_meanings import Table, answer_of, confirmed, refused, unknown, waiting
from malipo.networks.connector import Acknowledgement, Answer, Callback, CallbackReport, FailureCode, Verdict
from malipo.networks.http.client import json_object, key_of, text_of
from malipo.settings.networks import ClickpesaSettings

_VENDOR = "vendor document"
# Fields that only the data of the other type has.
_OF_THE_OTHER = {"PAYMENT": "beneficiary", "PAYOUT": "collectedAmount"}

# The event says what happened, not the status beside it: ClickPesa's own sample of PAYOUT INITIATED says SUCCESS.
EVENTS: Table = {
    "PAYMENT RECEIVED": confirmed("the money moved, unless the status beside it says otherwise", _VENDOR),
    "PAYMENT FAILED": refused(FailureCode.REJECTED, "failed, unless the status beside it says otherwise", _VENDOR),
    "PAYOUT INITIATED": waiting("begun, whatever the status beside it", _VENDOR),
    "PAYOUT REFUNDED": refused(FailureCode.REJECTED, "the money came back", _VENDOR),
    "PAYOUT REVERSED": refused(FailureCode.REJECTED, "the money came back", _VENDOR),
    "DEPOSIT RECEIVED": unknown("not about a payment", _VENDOR),
}


def read(callback: Callback, settings: ClickpesaSettings) -> CallbackReport | None:
    fields = json_object(callback.body) or {}
    data = fields.get("data")
    if not isinstance(data, dict):
        return None
    key, signature = key_of(data.get("orderReference")), text_of(fields.get("checksum"))
    is_signed = bool(signature) and settings.clickpesa_checksum_key is not None
    if not key or (is_signed and not _is_right(fields, signature, settings)):
        return None
    answer = _answer(text_of(fields.get("event")).upper(), data)
    return CallbackReport(key=key, answer=answer, is_signed=is_signed)


def acknowledge(report: CallbackReport | None) -> Acknowledgement:
    if report is None:
        return Acknowledgement(status=400, body=b'{"received":false}')
    return Acknowledgement(status=200, body=b'{"received":true}')


def _answer(event: str, data: Mapping[str, Any]) -> Answer:
    """The answer of a callback by its event, and not by the status beside it; where the two contradict each other,
    unknown.

    Whether the payment is a collection or a payout follows only from its key, which the connector cannot look up. Data
    of the other type than the event are not believed.
    """
    status = data.get("status")
    answer = answer_of(NETWORK, EVENTS, event, text_of(data.get("message")))
    type_, _, _ = event.partition(" ")
    is_contradicted = type_ == "PAYMENT" and status not in (None, "") and _verdict(status) is not answer.verdict
    if is_contradicted or _OF_THE_OTHER.get(type_) in data:
        return Answer(verdict=Verdict.UNKNOWN, code=event, detail=f"{text_of(status)} {answer.detail}".strip())
    return with_particulars(answer, data)


def _verdict(status: object) -> Verdict | None:
    meaning = codes.STATUSES.get(text_of(status).upper())
    return meaning.verdict if meaning else None


def _is_right(fields: Mapping[str, Any], signature: str, settings: ClickpesaSettings) -> bool:
    try:
        expected = checksum_of(fields, settings)
    except (RecursionError, ValueError):
        return False
    return hmac.compare_digest(expected.encode(), signature.lower().encode())

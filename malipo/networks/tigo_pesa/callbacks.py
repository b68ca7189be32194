"""Tigo Pesa's callbacks: the result of a push. They are unsigned, and always name the amount. Pure."""

from typing import Any

import msgspec
from msgspec.structs import replace

from malipo.networks.code_meanings import answer_of
from malipo.networks.connector import Acknowledgement, Answer, Callback, CallbackReport, Verdict
from malipo.networks.http.client import amount_of, json_object, key_of, receipt_of, text_of
from malipo.networks.text import reason_in
from malipo.networks.tigo_pesa import codes
from malipo.networks.tigo_pesa.replies import NETWORK
from malipo.settings.networks import TigoPesaSettings

_encode = msgspec.json.Encoder().encode
_NOT_ACCEPTED = "BILLER-30-3030-E"


def read(callback: Callback, settings: TigoPesaSettings) -> CallbackReport | None:
    fields = json_object(callback.body) or {}
    key, answer = _key(fields.get("ReferenceID"), settings.tigo_pesa_biller_code), _answer(fields)
    return CallbackReport(key=key, answer=answer, is_signed=False) if key and answer else None


def _key(reference: object, prefix: str) -> str:
    text = key_of(reference)
    return text.removeprefix(prefix) if text.startswith(prefix) else ""


def _answer(fields: dict[str, Any]) -> Answer | None:
    """None if its status is neither true nor false, as a boolean or as text."""
    status = str(fields.get("Status")).lower() if isinstance(fields.get("Status"), bool | str) else ""
    if status not in codes.CALLBACKS:
        return None
    detail, amount = text_of(fields.get("Description")), amount_of(fields.get("Amount"))
    answer = answer_of(NETWORK, codes.CALLBACKS, status, detail)
    is_paid = answer.verdict is Verdict.CONFIRMED
    return replace(
        answer,
        provider_reference=receipt_of(fields.get("MFSTransactionID")) if is_paid else None,
        failure_code=None if is_paid else reason_in(detail),
        amount=amount,
        lacks_amount=amount is None,  # It always names the amount. Where it does not, it is not theirs.
    )


def acknowledge(callback: Callback, report: CallbackReport | None, settings: TigoPesaSettings) -> Acknowledgement:
    fields = json_object(callback.body) or {}
    is_read = report is not None
    body = {
        "ResponseCode": settings.tigo_pesa_acknowledgement if is_read else _NOT_ACCEPTED,
        "ResponseStatus": is_read,
        "ResponseDescription": "Callback successful" if is_read else "Callback not understood",
        "ReferenceID": text_of(fields.get("ReferenceID")),
    }
    return Acknowledgement(status=200 if is_read else 400, body=_encode(body))

"""AzamPay's callbacks. Pure.

A payout's callback is not signed, so it is a hint, and the query decides. AzamPay sends two forms: one for payouts, and
one for collections, in which some accounts get payouts too; its signature covers neither the amount nor the receipt.
"""

from msgspec.structs import replace

from malipo.networks.azampay.replies import of_status
from malipo.networks.connector import Acknowledgement, Callback, CallbackReport, Verdict
from malipo.networks.http.client import json_object, key_of, text_of


def read(callback: Callback) -> CallbackReport | None:
    fields = json_object(callback.body) or {}
    is_of_payouts = "initiatorReferenceId" in fields
    key = key_of(fields.get("initiatorReferenceId" if is_of_payouts else "utilityref"))
    status = fields.get("status" if is_of_payouts else "transactionstatus")
    if not key or not isinstance(status, str):
        return None
    answer = of_status(fields, status)
    network_id = text_of(fields.get("pgReferenceId" if is_of_payouts else "reference"))
    answer = replace(
        answer,
        detail=f"{answer.detail} pgReferenceId {network_id}".strip() if network_id else answer.detail,
        # A callback always names it.
        lacks_amount=answer.verdict is Verdict.CONFIRMED and answer.amount is None,
    )
    return CallbackReport(key=key, answer=answer, is_signed=False)


def acknowledge(report: CallbackReport | None) -> Acknowledgement:
    if report is None:
        return Acknowledgement(status=400, body=b'{"success":false}')
    return Acknowledgement(status=200, body=b'{"success":true}')

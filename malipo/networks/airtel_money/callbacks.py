"""Airtel Money's callbacks and their signature. A signed one ends a payment, an unsigned one is a hint. Pure."""

import base64
import hashlib
import hmac

import msgspec

from malipo.networks.airtel_money import replies
from malipo.networks.connector import Acknowledgement, Answer, Callback, CallbackReport, Verdict
from malipo.networks.http.client import json_object, key_of, text_of
from malipo.settings.networks import AirtelMoneySettings


class _RawCallback(msgspec.Struct):
    """The bytes under the signature are the network's own, not ours written again."""

    transaction: msgspec.Raw = msgspec.Raw(b"")
    payload: "_RawCallback | None" = None
    hash: str | None = None


_decode_raw = msgspec.json.Decoder(_RawCallback).decode


def read(callback: Callback, settings: AirtelMoneySettings) -> CallbackReport | None:
    try:
        outer = _decode_raw(callback.body)
    except (ValueError, RecursionError):
        return None
    raw = bytes(outer.transaction)
    inner = outer if raw or outer.payload is None else outer.payload
    raw = bytes(inner.transaction)
    signature = outer.hash or inner.hash or callback.headers.get("hash")
    key = settings.airtel_money_callback_key
    if signature is not None and key is not None and not _is_signed(raw, key, signature, settings):
        return None
    fields = json_object(raw) or {}
    our_key = key_of(fields.get("id"))
    if not our_key:
        return None
    answer = replies.of_letters(fields, "status_code") or Answer(
        verdict=Verdict.UNKNOWN, code=text_of(fields.get("code"))
    )
    return CallbackReport(key=our_key, answer=answer, is_signed=signature is not None and key is not None)


def acknowledge(report: CallbackReport | None) -> Acknowledgement:
    if report is None:
        return Acknowledgement(status=400, body=b'{"status":"rejected"}')
    return Acknowledgement(status=200, body=b'{"status":"received"}')


def _is_signed(raw: bytes, key: str, signature: str, settings: AirtelMoneySettings) -> bool:
    """Nothing public says which bytes are under the hash, so the setting may name them, or allow both."""
    forms = {"wrapped": b'{"transaction":' + raw + b"}", "object": raw}
    wanted = settings.airtel_money_callback_hash
    received = signature.strip().encode("utf-8", "replace")
    is_right = False
    for form, signed in forms.items():
        if wanted in ("either", form):
            expected = base64.b64encode(hmac.new(key.encode(), signed, hashlib.sha256).digest())
            is_right |= hmac.compare_digest(expected, received)
    return is_right

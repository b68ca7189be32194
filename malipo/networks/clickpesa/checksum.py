"""The checksum that signs ClickPesa's webhooks, and the bodies that we send to ClickPesa. Pure."""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

import msgspec

from malipo.settings.networks import ClickpesaSettings

_NOT_SIGNED = ("checksum", "checksumMethod")


def checksum_of(payload: Mapping[str, Any], settings: ClickpesaSettings) -> str:
    """The checksum of a webhook, and of the bodies that we send."""
    signed = {name: value for name, value in payload.items() if name not in _NOT_SIGNED}
    text = _canonical(signed) if settings.clickpesa_checksum == "canonical" else _joined(signed)
    return hmac.new((settings.clickpesa_checksum_key or "").encode(), text, hashlib.sha256).hexdigest()


def _canonical(payload: Mapping[str, Any]) -> bytes:
    """Compact JSON, the keys of every object sorted."""
    return msgspec.json.Encoder(order="sorted").encode(payload)


def _joined(payload: Mapping[str, Any]) -> bytes:
    """The older form: the values, in the order of their keys, with nothing between."""
    return "".join(_flat(payload[name]) for name in sorted(payload)).encode()


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return _joined(value).decode()
    if isinstance(value, list):
        return "".join(map(_flat, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)

"""Webhook signatures: the secret, and what is signed with it (HMAC-SHA256). Pure.

There are two families of headers: the specification's own, and those of Standard Webhooks, whose libraries verify our
webhooks unchanged.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime

from malipo import clock, randomness

_PREFIX = "whsec_"
_RANDOM_BYTES = 32


def new_secret() -> str:
    return _PREFIX + base64.b64encode(randomness.token_bytes(_RANDOM_BYTES)).decode()


def headers_of(
    *, word: str, event: str, event_id: str, attempt_id: str, body: bytes, keys: Sequence[str], now: datetime
) -> dict[str, str]:
    """The headers for a body. During a rotation there are two keys: the old one, then the new one."""
    timestamp = clock.milliseconds(now) // 1000
    headers = {
        "Content-Type": "application/json",
        f"X-{word}-Event": event,
        f"X-{word}-Delivery": attempt_id,
        f"X-{word}-Signature": _hex(keys[0], body),
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(_standard(key, event_id, timestamp, body) for key in keys),
    }
    if len(keys) > 1:
        headers[f"X-{word}-Signature-Next"] = _hex(keys[1], body)
    return headers


def _hex(secret: str, body: bytes) -> str:
    """The specification's signature: the key is the whole secret, and the raw body is signed."""
    return hmac.digest(secret.encode(), body, hashlib.sha256).hex()


def _standard(secret: str, event_id: str, timestamp: int, body: bytes) -> str:
    """The signature of Standard Webhooks: the key is decoded from the secret, and id and time are signed with the
    body."""
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    signed = b"%s.%d.%s" % (event_id.encode(), timestamp, body)
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()

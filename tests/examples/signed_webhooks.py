"""Webhooks as malipo sends them, written from the specification: signed by the official library and by hand.

Knows nothing of malipo's own signing, so that a mistake there cannot hide here.
"""

import base64
import hashlib
import hmac
import http.client
import itertools
import json
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from standardwebhooks import Webhook

Headers = dict[str, str]

OLD, NEW, STRANGE = ("whsec_" + base64.b64encode(bytes([each]) * 32).decode() for each in (1, 2, 3))
_numbers = itertools.count(1)


def event(
    order: str | int | None, *, kind: str = "payment.completed", status: str = "COMPLETED", **changes: Any
) -> bytes:
    """The body of an event. A new payment each time, unless a reference is given."""
    number = next(_numbers)
    transaction = {
        "id": f"txn_{number:026}",
        "reference": f"MLP-{number:016}",
        "type": "COLLECTION",
        "status": status,
        "amount": 1000,
        "fee": 25,
        "netAmount": 975,
        "channel": "MPESA",
        "buyerPhone": "+255754000001",
        "buyerName": "Asha Mwakyusa-Nyerere, née d’Été",
        "description": "",
        "metadata": {} if order is None else {"orderId": order},
        "createdAt": "2026-11-15T08:30:00.123Z",
    }
    text = json.dumps({"event": kind, "transaction": transaction | changes}, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def now() -> int:
    return int(time.time())


def plain(body: bytes, secret: str | bytes = OLD) -> str:
    key = secret if isinstance(secret, bytes) else secret.encode("ascii")
    return hmac.new(key, body, hashlib.sha256).hexdigest()


def signed(body: bytes, secret: str = OLD, *, event_id: str | None = None, at: int | None = None) -> Headers:
    """The headers of a first attempt, or of a later one if an id is given."""
    event_id = event_id or f"evt_{next(_numbers):026}"
    timestamp = now() if at is None else at
    return {
        "Content-Type": "application/json",
        "X-Service-Event": "payment.completed",
        "X-Service-Delivery": f"att_{next(_numbers):026}",
        "X-Service-Signature": plain(body, secret),
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": _standard(body, secret, event_id, timestamp),
    }


def _standard(body: bytes, secret: str, event_id: str, timestamp: int) -> str:
    try:
        return Webhook(secret).sign(event_id, datetime.fromtimestamp(timestamp, UTC), body.decode())
    except UnicodeDecodeError:  # The library signs text only.
        return by_hand(body, base64.b64decode(secret[6:]), event_id, timestamp)


def by_hand(body: bytes, key: bytes, event_id: str, timestamp: int) -> str:
    digest = hmac.digest(key, f"{event_id}.{timestamp}.".encode() + body, "sha256")
    return "v1," + base64.b64encode(digest).decode()


def rotating(body: bytes, old: str = OLD, new: str = NEW) -> Headers:
    """The headers while the old secret is being replaced by the new one."""
    headers, next_ = signed(body, old), plain(body, new)
    both = _standard(body, new, headers["webhook-id"], int(headers["webhook-timestamp"]))
    return {
        **headers,
        "X-Service-Signature-Next": next_,
        "webhook-signature": f"{headers['webhook-signature']} {both}",
    }


def post(url: str, body: bytes, headers: Headers) -> tuple[int, str]:
    """The status and the text of the answer."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    try:
        with suppress(BrokenPipeError, ConnectionResetError):  # A server may answer before it has heard all.
            connection.request("POST", "/", body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode().strip()
    finally:
        connection.close()

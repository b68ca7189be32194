"""Webhook signatures (Standard Webhooks): verify what your server received."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from malipo_client.errors import InvalidWebhook
from malipo_client.records import Event


def verify_webhook(
    body: bytes, headers: Mapping[str, str], secret: str | Iterable[str], *, tolerance: int = 300
) -> Event:
    """The event, if it was signed with your secret within the last `tolerance` seconds; else InvalidWebhook.

    `body` is the raw bytes as they came: JSON that was parsed and written again has other bytes. While a secret is
    being rotated give both, as a list or with a comma between. Deduplicate on the event's `id`: it can come again.
    """
    named = {name.lower(): value for name, value in headers.items()}
    event_id, sent_at, signatures = (named.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not event_id or not signatures or not (sent_at.isascii() and sent_at.isdigit() and len(sent_at) <= 12):
        raise InvalidWebhook("A signature header is missing or malformed.")
    if abs(time.time() - int(sent_at)) > tolerance:
        raise InvalidWebhook("The timestamp is too old or too new.", status=401)
    good = [sign_webhook(body, event_id, int(sent_at), each) for each in _secrets(secret)]
    if not _one_is_equal(good, signatures.split(" ")):
        raise InvalidWebhook("The signature is wrong.", status=401)
    return _event(event_id, body)


def sign_webhook(body: bytes, event_id: str, sent_at: int, secret: str) -> str:
    """The `webhook-signature` of a body, for tests of your own receiver."""
    import hashlib  # It loads OpenSSL, which whoever only pays need not wait for.
    import hmac

    signed = b"%s.%d.%s" % (event_id.encode(), sent_at, body)
    digest = hmac.new(_key(secret), signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


def _one_is_equal(good: list[str], given: list[str]) -> bool:
    """In constant time, so that nobody can find a signature by how long a wrong one takes."""
    from hmac import compare_digest

    return any(compare_digest(one.encode(), each.encode()) for one in good for each in given)


def _secrets(secret: str | Iterable[str]) -> list[str]:
    return [each.strip() for each in (secret.split(",") if isinstance(secret, str) else secret)]


def _key(secret: str) -> bytes:
    prefix, _, encoded = secret.partition("_")
    try:
        key = base64.b64decode(encoded, validate=True)
    except ValueError:
        key = b""
    if prefix != "whsec" or not key:
        # An empty secret would let anybody sign.
        raise ValueError("The secret must be the whsec_… that was shown when the endpoint was registered.")
    return key


def _event(event_id: str, body: bytes) -> Event:
    try:
        told: Any = json.loads(body.decode())
        name = told["event"]
        about = next((each for each in ("transaction", "batch", "link", "settlement") if each in told), "transaction")
        subject = told[about]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InvalidWebhook("What was signed is no event.") from None
    if not isinstance(name, str) or not isinstance(subject, dict):
        raise InvalidWebhook("What was signed is no event.")
    return Event({**told, "id": event_id})

"""Forwards an event to the developer's receiver as a webhook: the same bytes, headers and timeout."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import os
import time
from typing import NamedTuple
from urllib.parse import urlsplit

from malipo_client.cli.output import plain
from malipo_client.cli.raw_events import RawEvent
from malipo_client.webhook_signature import sign_webhook

_TIMEOUT_SECONDS = 10
_LARGEST_ANSWER = 2048


class Outcome(NamedTuple):
    is_success: bool
    words: str


def secret_of(api_key: str) -> str:
    """The same for the same key, so a developer sets it once; the key cannot be computed from it."""
    made = hmac.new(api_key.encode(), b"malipo listen", hashlib.sha256).digest()
    return "whsec_" + base64.b64encode(made).decode()


class Forward:
    def __init__(self, url: str, secret: str) -> None:
        self.url = url if "://" in url else f"http://{url}"
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("--forward-to must start with https:// or http://.")
        self._host, self._port, self._is_tls = parts.hostname, parts.port, parts.scheme == "https"
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._secret = secret

    def __call__(self, event: RawEvent) -> Outcome:
        kind = http.client.HTTPSConnection if self._is_tls else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=_TIMEOUT_SECONDS)
        started = time.monotonic()
        try:
            connection.request("POST", self._target, body=event.body, headers=self._headers(event))
            response = connection.getresponse()
            body = response.read(_LARGEST_ANSWER)
        except TimeoutError:
            return Outcome(False, "no answer in time")
        except ConnectionRefusedError:
            return Outcome(False, "connection refused")
        except (OSError, http.client.HTTPException) as error:
            return Outcome(False, str(error) or type(error).__name__)
        finally:
            connection.close()
        return _outcome(response.status, response.reason, body, seconds=time.monotonic() - started)

    def _headers(self, event: RawEvent) -> dict[str, str]:
        sent_at = int(time.time())
        return {
            "Content-Type": "application/json",
            "X-Service-Event": event.name,
            "X-Service-Delivery": f"att_{os.urandom(13).hex()}",
            "X-Service-Signature": hmac.new(self._secret.encode(), event.body, hashlib.sha256).hexdigest(),
            "webhook-id": event.id,
            "webhook-timestamp": str(sent_at),
            "webhook-signature": sign_webhook(event.body, event.id, sent_at, self._secret),
        }


def _outcome(status: int, reason: str, body: bytes, *, seconds: float) -> Outcome:
    if 200 <= status < 300:
        return Outcome(True, f"{status} {reason} {seconds * 1000:.0f} ms")
    if 300 <= status < 400:
        return Outcome(False, f"{status}: a redirect, which is not followed")
    lines = (plain(line).strip() for line in body.decode("utf-8", "replace").split("\n"))
    said = next(filter(None, lines), "")
    return Outcome(False, f"{status}: {said[:100]}" if said else f"{status} {reason}")

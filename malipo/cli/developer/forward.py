"""Forwards an event to the developer's receiver as a webhook: the same bytes, headers and timeout.

The secret is derived from the API key: a developer sets it once, and it is stored nowhere.
"""

import base64
import hashlib
import hmac

from malipo import clock, ids
from malipo.cli.developer.feed_client import FetchedEvent
from malipo.webhooks.http_client import NoResponse, ReceiverResponse, WebhookClient
from malipo.webhooks.signature import headers_of

# Between two attempts of the same event; the last repeats.
RETRY_SECONDS = (1, 2, 5, 10, 30)


def secret_of(api_key: str) -> str:
    """The same for the same key; the key cannot be computed from it."""
    mac = hmac.digest(api_key.encode(), b"malipo listen", hashlib.sha256)
    return "whsec_" + base64.b64encode(mac).decode()


class Forward:
    def __init__(self, webhook_client: WebhookClient, url: str, secret: str, *, word: str) -> None:
        self._webhook_client = webhook_client
        self._url = url
        self._secret = secret
        self._word = word

    async def __call__(self, event: FetchedEvent) -> ReceiverResponse | NoResponse:
        now, body = clock.now(), event.body
        headers = headers_of(
            word=self._word,
            event=event.event,
            event_id=event.id,
            attempt_id=ids.mint("att_", now),
            body=body,
            keys=[self._secret],
            now=now,
        )
        return await self._webhook_client(self._url, headers=headers, body=body)

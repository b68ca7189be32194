"""Sends one attempt of a delivery: signs it, posts it, and returns the receiver's answer.

No lock and no database connection is held meanwhile.
"""

from malipo import clock as clocks
from malipo import ids
from malipo.clock import Clock
from malipo.encryption import Encryption
from malipo.webhooks.delivery_state import Attempt, WebhookMessage
from malipo.webhooks.http_client import Answered, WebhookClient
from malipo.webhooks.signature import headers_of


async def send_attempt(
    message: WebhookMessage, webhook_client: WebhookClient, encryption: Encryption, *, word: str, clock: Clock
) -> Attempt:
    """Whatever the receiver does, the result is an Attempt, never an exception."""
    at = clock()
    attempt_id = ids.mint("att_", at)
    body = message.body.encode()
    headers = headers_of(
        word=word,
        event=message.event,
        event_id=message.event_id,
        attempt_id=attempt_id,
        body=body,
        keys=message.endpoint.keys(encryption, at),
        now=at,
    )
    began = clocks.monotonic()
    said = await webhook_client(message.endpoint.url, headers=headers, body=body)
    duration_ms = round((clocks.monotonic() - began) * 1000)
    if isinstance(said, Answered):
        return Attempt(
            message.key, message.claim_id, attempt_id, at, duration_ms, said.status, said.headers, said.body, error=None
        )
    return Attempt(message.key, message.claim_id, attempt_id, at, duration_ms, None, (), b"", error=said.reason)

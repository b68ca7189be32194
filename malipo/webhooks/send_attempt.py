"""Sends one attempt of a delivery: signs it, posts it, and returns the receiver's answer.

No lock and no database connection is held during the request.
"""

from collections.abc import Awaitable

from malipo import clock as clocks
from malipo import ids
from malipo.clock import Clock
from malipo.db.group_commit import GroupCommits
from malipo.db.pace import ANSWERS_PACE
from malipo.encryption import Encryption
from malipo.metrics.process_metrics import Metrics
from malipo.settings import Settings
from malipo.webhooks.delivery_state import Attempt, Delivery, WebhookMessage
from malipo.webhooks.http_client import ReceiverResponse, WebhookClient
from malipo.webhooks.record_attempt import RecordAttempts
from malipo.webhooks.signature import headers_of

# Enough for all concurrent attempts of a worker.
_MOST_ATTEMPTS = 4096


async def send_attempt(
    message: WebhookMessage, webhook_client: WebhookClient, encryption: Encryption, *, word: str, clock: Clock
) -> Attempt:
    """Returns an Attempt also if the request fails. Raises CannotDecrypt if the endpoint's secret cannot be read."""
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
    response = await webhook_client(message.endpoint.url, headers=headers, body=body)
    duration_ms = round((clocks.monotonic() - began) * 1000)
    if isinstance(response, ReceiverResponse):
        reply = (response.status, response.headers, response.body)
        return Attempt(message.key, message.claim_id, attempt_id, at, duration_ms, *reply, error=None)
    return Attempt(message.key, message.claim_id, attempt_id, at, duration_ms, None, (), b"", error=response.reason)


class Attempts:
    """Sends attempts, and records those that end together in one commit."""

    def __init__(
        self,
        commits: GroupCommits,
        client: WebhookClient,
        encryption: Encryption,
        metrics: Metrics,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._client = client
        self._encryption = encryption
        self._metrics = metrics
        self._word = settings.header_word
        self._clock = clock
        act = RecordAttempts(clock=clock, retry_seconds=settings.webhook_retry_seconds)
        # The pace delays only deliveries of an endpoint that has used all its slots.
        self._record = commits.group("record_attempt", act, most=_MOST_ATTEMPTS, pace=ANSWERS_PACE)

    def send(self, message: WebhookMessage) -> Awaitable[Attempt]:
        return send_attempt(message, self._client, self._encryption, word=self._word, clock=self._clock)

    async def record(self, attempt: Attempt) -> Delivery | None:
        delivery = await self._record(attempt)
        self._metrics.count_attempt(attempt.http_status, attempt.duration_ms / 1000)
        return delivery

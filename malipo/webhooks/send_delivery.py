"""Sends one delivery to its endpoint, and records attempts in batches.

No lock and no database connection is held while a receiver is waited for.
"""

from collections.abc import Sequence
from datetime import datetime

from malipo import clock as clocks
from malipo import ids, log
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.clock import Clock
from malipo.db import Tx
from malipo.encryption import Encryption
from malipo.webhooks.delivery import Attempt, Delivery, Key, WebhookMessage
from malipo.webhooks.endpoint import why_switched_off
from malipo.webhooks.http_client import Answered, WebhookClient
from malipo.webhooks.signature import headers_of
from malipo.webhooks.store import deliveries, endpoints

_WORKER = Actor("malipo", "worker")


async def deliver(
    message: WebhookMessage, webhook_client: WebhookClient, encryption: Encryption, *, word: str, clock: Clock
) -> Attempt:
    """One attempt. Whatever the receiver does, the result is an Attempt, never an exception."""
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


class Record:
    """Records attempts: the state of each delivery, and the health of its endpoint."""

    def __init__(self, *, clock: Clock, retry_seconds: Sequence[int]) -> None:
        self._clock = clock
        self._retry_seconds = retry_seconds

    async def __call__(self, tx: Tx, attempts: Sequence[Attempt], /, *, again: bool) -> list[Delivery | None]:
        """The deliveries as they are now; None for one that is no longer kept."""
        found = await deliveries.lock(tx, {each.key for each in attempts})
        # One that exists was written by an earlier try of this commit, with all that follows from it.
        new = await deliveries.insert_attempts(tx, [each for each in attempts if each.key in found])
        current: dict[Key, Delivery] = dict(found)
        telling: list[Attempt] = []
        for attempt in (each for each in attempts if each.id in new):
            after = current[attempt.key].after(attempt, self._retry_seconds)
            # A failure that is reported too late says nothing about the endpoint's health now.
            if attempt.is_success or after != current[attempt.key]:
                telling.append(attempt)
            current[attempt.key] = after
        await deliveries.update(tx, [each for key, each in current.items() if each != found[key]])
        await self._note_health(tx, telling, self._clock())
        return [current.get(attempt.key) for attempt in attempts]

    async def _note_health(self, tx: Tx, attempts: Sequence[Attempt], now: datetime) -> None:
        succeeded = {each.key[0] for each in attempts if each.is_success}
        if succeeded:
            await endpoints.note_success(tx, sorted(succeeded))
        failed = {each.key[0] for each in attempts} - succeeded
        if not failed:
            return
        since = await endpoints.note_failure(tx, sorted(failed), now=now)
        gone = {each.key[0] for each in attempts if each.is_gone}
        for endpoint_id in sorted(failed):
            why = why_switched_off(is_gone=endpoint_id in gone, failing_since=since.get(endpoint_id), now=now)
            if why is not None:
                await _switch_off(tx, endpoint_id, why, now)


async def _switch_off(tx: Tx, endpoint_id: str, why: str, now: datetime) -> None:
    merchant_id = await endpoints.switch_off(tx, endpoint_id, why, now=now)
    if merchant_id is not None:
        log.warning("webhook.switched_off", endpoint=endpoint_id, merchant=merchant_id, why=why)
        await audit_log.append(
            tx, _WORKER, "webhook.switched_off", now=now, merchant_id=merchant_id, endpoint=endpoint_id, why=why
        )

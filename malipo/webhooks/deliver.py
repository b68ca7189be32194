"""Carries one delivery to its endpoint, and writes down what came of many.

Nothing here holds a lock or a connection of the database while a receiver is being waited for.
"""

import time
from collections.abc import Sequence
from datetime import datetime

from malipo import ids, log
from malipo.clock import Clock
from malipo.db import Tx
from malipo.seal import Seal
from malipo.trail import store as trail
from malipo.trail.store import Actor
from malipo.webhooks.delivery import Attempt, Delivery, Key, Parcel
from malipo.webhooks.post import Answered, Post
from malipo.webhooks.schedule import GIVE_UP_AFTER, is_given_up
from malipo.webhooks.signature import headers_of
from malipo.webhooks.store import deliveries, endpoints

_WORKER = Actor("malipo", "worker")
GONE = "The receiver answered 410 Gone."
GIVEN_UP = f"Every attempt has failed for {GIVE_UP_AFTER.days} days."


async def deliver(parcel: Parcel, post: Post, seal: Seal, *, word: str, clock: Clock) -> Attempt:
    """One try. Whatever the other side does to us is an Attempt."""
    at = clock()
    attempt_id = ids.mint("att_", at)
    body = parcel.body.encode()
    headers = headers_of(
        word=word,
        event=parcel.event,
        event_id=parcel.event_id,
        attempt_id=attempt_id,
        body=body,
        keys=parcel.endpoint.keys(seal, at),
        now=at,
    )
    began = time.perf_counter()
    said = await post(parcel.endpoint.url, headers=headers, body=body)
    took_ms = round((time.perf_counter() - began) * 1000)
    if isinstance(said, Answered):
        return Attempt(
            parcel.key, parcel.claim, attempt_id, at, took_ms, said.status, said.headers, said.body, error=None
        )
    return Attempt(parcel.key, parcel.claim, attempt_id, at, took_ms, None, (), b"", error=said.reason)


class Record:
    """Writes attempts down: what became of each delivery, and how its endpoint fares."""

    def __init__(self, *, clock: Clock, retry_seconds: Sequence[int]) -> None:
        self._clock = clock
        self._retry_seconds = retry_seconds

    async def __call__(self, tx: Tx, attempts: Sequence[Attempt], /, *, again: bool) -> list[Delivery | None]:
        """The deliveries as they are now; None for one that is no longer kept."""
        found = await deliveries.lock(tx, {each.key for each in attempts})
        # One that is there already was written by an earlier try, with all that follows from it.
        new = await deliveries.insert_attempts(tx, [each for each in attempts if each.key in found])
        current: dict[Key, Delivery] = dict(found)
        telling: list[Attempt] = []
        for attempt in (each for each in attempts if each.id in new):
            after = current[attempt.key].after(attempt, self._retry_seconds)
            # A failure that comes too late to matter says nothing about how the endpoint fares now.
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
            if endpoint_id in gone:
                await _switch_off(tx, endpoint_id, GONE, now)
            elif is_given_up(since.get(endpoint_id), now):
                await _switch_off(tx, endpoint_id, GIVEN_UP, now)


async def _switch_off(tx: Tx, endpoint_id: str, why: str, now: datetime) -> None:
    merchant_id = await endpoints.switch_off(tx, endpoint_id, why, now=now)
    if merchant_id is not None:
        log.warning("webhook.switched_off", endpoint=endpoint_id, merchant=merchant_id, why=why)
        await trail.note(
            tx, _WORKER, "webhook.switched_off", now=now, merchant_id=merchant_id, endpoint=endpoint_id, why=why
        )

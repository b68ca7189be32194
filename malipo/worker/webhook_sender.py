"""The webhook sender: fans out events, claims due deliveries, sends them, and records the attempts.

Deliveries are claimed under a lease, for each endpoint as many as its concurrency allows, so a backlog of one endpoint
does not delay another. If a worker dies, others send its deliveries again after the lease.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import chain

from malipo import ids, log, tracing
from malipo.clock import Clock, loop_time
from malipo.db import Database
from malipo.encryption import CannotDecrypt
from malipo.errors import Unavailable
from malipo.metrics.process_metrics import Metrics
from malipo.outbox.event import EVENTS_TOPIC
from malipo.outbox.store import AnyEvent
from malipo.restore.restore_detector import NotCompared, RestoreDetector
from malipo.settings import Settings
from malipo.webhooks.delivery_state import Attempt, DeliveryState, WebhookMessage
from malipo.webhooks.fan_out import fan_out
from malipo.webhooks.send_attempt import Attempts
from malipo.webhooks.store import delivery_queue
from malipo.webhooks.webhooks import WEBHOOKS_TOPIC
from malipo.worker.loop_health import LoopHealth
from malipo.worker.poll_loop import LOOK_SECONDS, PAUSE_SECONDS, RARE_LOOK_SECONDS, run_forever, step_seconds
from malipo.worker.webhook_concurrency import LINGER_SECONDS, Slot, WebhookConcurrency

AtPoint = Callable[[str], None]

_MOST_EVENTS = 500
_MOST_CLAIMED = 256
# Added to the duration of a request: the error of clocks, scheduling and the database.
_MARGIN_SECONDS = 20.0
_FAST = 512
_SLOW = 2048
_AGAIN_SECONDS = 1.0
# The query for endpoints with due deliveries costs a little for each endpoint, so it is not run at every turn.
_LOOK_SHARE = 0.05


class WebhookSender:
    """`at_point` is called at each named point of a delivery's way, so that a test can stop the process there."""

    def __init__(
        self,
        database: Database,
        attempts: Attempts,
        detector: RestoreDetector,
        metrics: Metrics,
        settings: Settings,
        clock: Clock,
        *,
        lease_seconds: float | None,
        at_point: AtPoint,
        on_numbered: Callable[[Sequence[AnyEvent]], None] = lambda _: None,
    ) -> None:
        self._on_numbered = on_numbered  # called with numbered events, after their commit: links may count them
        self._database = database
        self._attempts = attempts
        self._detector = detector
        self._metrics = metrics
        self._step_seconds = step_seconds(settings)
        self._clock = clock
        self._at_point = at_point
        self._lease_seconds = lease_seconds or settings.webhook_timeout_seconds + _MARGIN_SECONDS
        self._concurrency = WebhookConcurrency(fast=_FAST, slow=_SLOW)
        self._waiting: dict[str, None] = {}  # endpoints for which something is due, in turn
        self._to_fan_out = asyncio.Event()
        self._due = asyncio.Event()
        self._look_at = 0.0
        self._under_way: set[asyncio.Task[None]] = set()
        metrics.watch_deliveries(lambda: self._concurrency.under_way)

    def wake(self, topic: str) -> None:
        """Look now, because a notification came."""
        if topic in ("", EVENTS_TOPIC):
            self._to_fan_out.set()
        if topic in ("", WEBHOOKS_TOPIC):
            self._look_at = 0.0
            self._due.set()

    async def run(self, loops: LoopHealth) -> None:
        seconds = self._step_seconds
        async with asyncio.TaskGroup() as group:
            group.create_task(
                run_forever(
                    "fan_out",
                    self._fan_out,
                    self._to_fan_out,
                    seconds=seconds,
                    pause_seconds=PAUSE_SECONDS,
                    look_seconds=RARE_LOOK_SECONDS,
                    loops=loops,
                )
            )
            group.create_task(run_forever("deliver", self._take_due, self._due, seconds=seconds, loops=loops))

    async def finish(self, *, seconds: float) -> None:
        """Wait for requests under way. Other workers send again those that do not end in time, when their lease
        ends."""
        under_way = set(self._under_way)
        if under_way:
            await asyncio.wait(under_way, timeout=seconds)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    async def _fan_out(self) -> bool:
        slots: list[Slot] = []

        def may_claim(endpoint_id: str) -> bool:
            if endpoint_id in self._waiting or not self._concurrency.room(endpoint_id):
                return False
            slots.append(self._concurrency.begin(endpoint_id))
            return True

        now = self._clock()
        try:
            async with self._database.begin() as tx:
                result = await fan_out(
                    tx,
                    most=_MOST_EVENTS,
                    claim_id=ids.mint("clm_", now),
                    lease_seconds=self._lease_seconds,
                    may_claim=may_claim,
                    now=now,
                )
                counted = await self._detector.count_numbering(tx) if result.event_count else None
                self._at_point("fanning")
        except BaseException as error:
            for slot in slots:
                self._concurrency.cancel(slot)
            if isinstance(error, NotCompared):
                return False
            raise
        if result.claimed:
            self._at_point("claimed")
        for slot, message in zip(slots, result.claimed, strict=True):
            self._spawn(slot, message)
        if result.waiting:
            self._waiting |= dict.fromkeys(result.waiting)
            self._due.set()
        await self._detector.note_numbering(counted)
        if result.event_count:
            self._on_numbered(result.numbered)
        return result.event_count == _MOST_EVENTS

    async def _take_due(self) -> bool:
        """Claim and send due deliveries, as far as there are slots. Returns whether more may be waiting."""
        now = self._clock()
        await self._look(now)
        slots = self._take_slots()
        if not slots:
            return False
        room = {endpoint_id: len(places) for endpoint_id, places in slots.items()}
        try:
            async with self._database.begin() as tx:
                messages = await delivery_queue.claim(
                    tx, room, ids.mint("clm_", now), lease_seconds=self._lease_seconds, now=now
                )
            if messages:
                self._at_point("claimed")
            for message in messages:
                self._spawn(slots[message.endpoint.id].pop(), message)
        finally:
            for slot in chain.from_iterable(slots.values()):
                self._concurrency.cancel(slot)
        for endpoint_id, unused in slots.items():
            self._waiting.pop(endpoint_id, None)
            if not unused:  # The endpoint may have more: it becomes the last in turn.
                self._waiting[endpoint_id] = None
        return any(self._concurrency.room(endpoint_id) for endpoint_id in self._waiting)

    async def _look(self, now: datetime) -> None:
        """Find endpoints with due deliveries: retries, those of a worker that died, and resends."""
        if loop_time() < self._look_at:
            return
        began = loop_time()
        self._look_at = began + LOOK_SECONDS
        async with self._database.read() as connection:
            self._waiting |= dict.fromkeys(await delivery_queue.find_waiting(connection, now=now))
        took = loop_time() - began
        self._look_at = max(self._look_at, began + took / _LOOK_SHARE)

    def _take_slots(self) -> dict[str, list[Slot]]:
        """Take slots for the deliveries that may be sent now, by endpoint."""
        slots: dict[str, list[Slot]] = {}
        left = _MOST_CLAIMED
        for endpoint_id in self._waiting:
            if free := min(self._concurrency.room(endpoint_id), left):
                slots[endpoint_id] = [self._concurrency.begin(endpoint_id) for _ in range(free)]
                left -= free
            if not left:
                break
        return slots

    def _spawn(self, slot: Slot, message: WebhookMessage) -> None:
        task = asyncio.get_running_loop().create_task(self._send(slot, message))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _send(self, slot: Slot, message: WebhookMessage) -> None:
        """The slot is returned when the attempt is recorded, so at most as many deliveries as there are slots can be
        sent twice."""
        is_success = False
        if message.transaction_id is not None:
            log.bind(transaction=message.transaction_id)
        try:
            attempt = await self._deliver(slot, message)
            if attempt is not None:
                is_success = attempt.is_success
                await self._record(attempt)
                self._at_point("recorded")
        finally:
            if tracing.active is not None:
                tracing.active.end()
            self._concurrency.end(slot, is_success=is_success)
            if message.endpoint.id in self._waiting:
                self._due.set()

    async def _deliver(self, slot: Slot, message: WebhookMessage) -> Attempt | None:
        lingering = asyncio.get_running_loop().call_later(LINGER_SECONDS, self._concurrency.linger, slot)
        if tracing.active is not None:
            tracing.active.begin_delivery(
                message.transaction_id, endpoint_id=message.endpoint.id, event_id=message.event_id, event=message.event
            )
        try:
            self._at_point("sending")
            attempt = await self._attempts.send(message)
            self._at_point("answered")
            log.debug(
                "webhook.attempted",
                endpoint=message.endpoint.id,
                delivery=message.event_id,
                attempt=attempt.id,
                status=attempt.http_status,
                ms=attempt.duration_ms,
            )
            if tracing.active is not None:
                tracing.active.end_delivery(attempt.id, attempt.http_status, is_success=attempt.is_success)
        except CannotDecrypt as error:
            # The operator has set a wrong encryption key. The delivery waits, and no attempt is counted.
            log.error("webhook.cannot_sign", endpoint=message.endpoint.id, reason=str(error))
            # The endpoint is skipped until the next poll, because its other deliveries would fail too.
            self._waiting.pop(message.endpoint.id, None)
            return None
        except Exception as error:
            log.error("webhook.delivery_broke", error, endpoint=message.endpoint.id, delivery=message.event_id)
            return None
        else:
            return attempt
        finally:
            lingering.cancel()

    async def _record(self, attempt: Attempt) -> None:
        """Record the attempt, and retry for as long as the database is away."""
        while True:
            try:
                delivery = await self._attempts.record(attempt)
            except Unavailable as error:
                log.warning("worker.database_away", step="record", reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
            except Exception as error:
                log.error("webhook.attempt_not_recorded", error, endpoint=attempt.key[0], delivery=attempt.key[1])
                return
            else:
                break
        if tracing.active is not None and delivery is not None:
            tracing.active.note_attempt(delivery.attempt_count)
        if delivery is not None and delivery.state is DeliveryState.EXHAUSTED:
            self._metrics.count_exhausted()
            log.warning(
                "webhook.exhausted", endpoint=attempt.key[0], delivery=attempt.key[1], tries=delivery.attempt_count
            )

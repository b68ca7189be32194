"""The network sender: sends payments to one connector, and queries the status of open ones.

No lock and no database connection is held while the network is waited for. Each sender has its own limits of concurrent
sends and queries, so a network that hangs delays no other.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from malipo import ids, log
from malipo.clock import Clock
from malipo.errors import Unavailable
from malipo.installation.restore_detector import RestoreDetector
from malipo.networks.connector import Answer, Connector, Order, Verdict, cannot_ask
from malipo.payments.claim_for_sending import Claim
from malipo.payments.dispatch import AnswerSource, ReceivedAnswer
from malipo.payments.settle import Report
from malipo.payments.store import dispatch_claims, dispatch_restore
from malipo.payments.transaction import Transaction
from malipo.service import Service
from malipo.worker.circuit_breaker import CircuitBreaker
from malipo.worker.poll_loop import run_forever, step_seconds

Mark = Callable[[str], None]

# Beside the time of the call itself: how long after the claim it may begin, and what clocks and scheduling may cost.
_START_SECONDS = 15.0
_MARGIN_SECONDS = 15.0
_AGAIN_SECONDS = 1.0
_FOLLOW_UP_SHARE = 4


class NetworkSender:
    """`mark` is called at each named point of a payment's way, so that a test can stop the process there."""

    def __init__(
        self,
        service: Service,
        connector: Connector,
        detector: RestoreDetector,
        *,
        lease_seconds: float | None,
        mark: Mark,
    ) -> None:
        self._service = service
        self._detector = detector
        self._connector = connector
        self._mark = mark
        self._pairs = service.networks.carried_by(connector.name)
        self._channels = list(dict.fromkeys(channel for channel, _ in self._pairs))
        self._call_seconds = connector.timeout_seconds + 5
        self._lease_seconds = lease_seconds or self._call_seconds + _START_SECONDS + _MARGIN_SECONDS
        self._circuit = CircuitBreaker(service, connector)
        service.metrics.watch_circuit(connector.name, lambda: self._circuit.is_open)
        self._to_send = asyncio.Event()
        self._to_ask = asyncio.Event()
        self._sending: set[asyncio.Task[None]] = set()
        self._asking: set[asyncio.Task[None]] = set()

    def wake(self, topic: str) -> None:
        """A notification came."""
        if topic in ("", *self._channels):
            self._to_send.set()
        if topic in ("", self._connector.name):
            self._to_ask.set()

    async def run(self) -> None:
        """Until cancelled. Whatever goes wrong is tried again: a sender never ends by itself."""
        seconds, route = step_seconds(self._service.settings), self._connector.name
        async with asyncio.TaskGroup() as group:
            group.create_task(run_forever("circuit", self._circuit.look, seconds=None, route=route))
            group.create_task(run_forever("send", self._send_due, self._to_send, seconds=seconds, route=route))
            group.create_task(run_forever("ask", self._ask_due, self._to_ask, seconds=seconds, route=route))

    async def finish(self, *, seconds: float) -> None:
        """Let calls that are under way end. Those that do not are abandoned: they will be queried."""
        under_way = self._sending | self._asking
        if under_way:
            await asyncio.wait(under_way, timeout=seconds)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    async def _send_due(self) -> bool:
        """Send waiting payments, as far as the concurrency limit allows. Whether more may be waiting."""
        if self._circuit.is_open:
            if self._detector.may_send:
                await self._service.lapse(self._channels, connector=self._connector.name)
            return False
        free = self._connector.concurrency - len(self._sending)
        if free <= 0 or not self._detector.may_send:
            return False
        before = self._detector.counted
        age = _Age(self._service.clock)
        claim = Claim(
            id=ids.mint("clm_", self._service.clock()),
            connector=self._connector.name,
            pairs=self._pairs,
            most=free,
            lease_seconds=self._lease_seconds,
            lapse_seconds=self._service.settings.lapse_seconds,
            worker_id=self._detector.worker_id,
        )
        self._mark("claiming")
        taken = await self._service.claim_for_sending(claim)
        if taken.to_send:
            self._mark("claimed")
            if not await self._detector.may_leave(taken.batch, before=before):
                await self._service.take_back(claim)
                return False
        for transaction in taken.to_send:
            self._spawn(self._sending, self._to_send, self._send(transaction, age))
        return bool(taken.to_send or taken.lapsed)

    async def _ask_due(self) -> bool:
        free = self._connector.concurrency - len(self._asking)
        if self._circuit.is_open or free <= 0:
            return False
        name, lease_seconds = self._connector.name, self._lease_seconds
        async with self._service.database.begin() as tx:
            due = await dispatch_claims.claim_queries(tx, name, lease_seconds=lease_seconds, most=free)
            for channel, type_ in self._pairs:
                if (left := free - len(due)) > 0:
                    due += await dispatch_restore.claim_asked_first(
                        tx, channel, type_, lease_seconds=lease_seconds, most=left
                    )
            # Payments that have ended are queried with the slots that are left, and never with all of them.
            free = min(free - len(due), max(self._connector.concurrency // _FOLLOW_UP_SHARE, 1))
            if free > 0:
                due += await dispatch_claims.claim_follow_ups(tx, name, lease_seconds=lease_seconds, most=free)
        for each in due:
            self._spawn(self._asking, self._to_ask, self._ask(each.transaction))
        return bool(due)

    def _spawn(self, tasks: set[asyncio.Task[None]], notifier: asyncio.Event, work: Awaitable[None]) -> None:
        async def watched() -> None:
            try:
                await work
            except Exception as error:
                log.error("worker.payment_broke", error, route=self._connector.name)
            finally:
                notifier.set()  # A slot is free.

        task = asyncio.get_running_loop().create_task(watched())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _send(self, transaction: Transaction, age: "_Age") -> None:
        if age.seconds() >= min(_START_SECONDS, self._lease_seconds / 2):
            # The process or the machine was paused. Others may have begun to query, so nothing may be sent any more.
            log.warning("worker.claim_too_old", transaction=transaction.id)
            return
        self._mark("sending")
        answer = await self._call(AnswerSource.SEND, self._connector.send, transaction)
        self._mark("answered")
        await self._report(transaction, AnswerSource.SEND, answer)
        self._mark("recorded")

    async def _ask(self, transaction: Transaction) -> None:
        asked_at = asyncio.get_running_loop().time()
        self._mark("asking")
        answer = await self._call(AnswerSource.QUERY, self._connector.ask, transaction)
        self._mark("told")
        await self._report(transaction, AnswerSource.QUERY, answer, asked_at=asked_at)
        self._mark("noted")

    async def _call(
        self, act: AnswerSource, call: Callable[[Order], Awaitable[Answer]], transaction: Transaction
    ) -> Answer:
        began = time.perf_counter()
        try:
            async with asyncio.timeout(self._call_seconds):
                answer = await call(_order_of(transaction))
        except TimeoutError:
            answer = Answer(verdict=Verdict.UNKNOWN, code="lost", detail="no answer in time", is_fault=True)
        except Exception as error:
            # A bug in a connector: the outcome of the payment is unknown.
            log.error("network.connector_broke", error, route=self._connector.name)
            answer = Answer(verdict=Verdict.UNKNOWN, code="broken", is_fault=True)
        self._circuit.note(answer)
        seconds = time.perf_counter() - began
        self._service.metrics.count_call(self._connector.name, act, answer.verdict, seconds)
        return answer

    async def _report(
        self, transaction: Transaction, act: AnswerSource, answer: Answer, *, asked_at: float | None = None
    ) -> None:
        """Record an answer, however long the database is away: a network does not repeat it."""
        if answer.alert is not None:
            log.error("network.alert", route=self._connector.name, transaction=transaction.id, alert=answer.alert)
        report = Report(
            id=ids.mint("hrg_", self._service.clock()),
            channels=[transaction.channel],
            key=transaction.network_key,
            received=ReceivedAnswer(
                connector=self._connector.name,
                source=act,
                answer=answer,
                cannot_ask=cannot_ask(self._connector),
                resubmit=self._connector.resubmit(transaction.type),
            ),
            asked_at=asked_at,
        )
        self._mark("recording")
        while True:
            try:
                await self._service.settle(report)
            except Unavailable as error:
                log.warning("worker.database_away", route=self._connector.name, reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                return


class _Age:
    """How old a claim is, by the clock that says more: wall time can be set back, monotonic time stops in a suspend."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began, self._ticked = clock(), time.monotonic()

    def seconds(self) -> float:
        return max((self._clock() - self._began).total_seconds(), time.monotonic() - self._ticked)


def _order_of(transaction: Transaction) -> Order:
    return Order(
        key=transaction.network_key,
        type=transaction.type,
        phone=transaction.phone,
        amount=transaction.amount,
        note=transaction.description,
        name=transaction.name,
    )

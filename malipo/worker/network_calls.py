"""Calls to one network: a send or a query with its timeout, in tasks of their own, and the report of the answer.

No lock and no database connection is held during the call.
"""

import asyncio
from collections.abc import Awaitable, Callable

from malipo import clock as clocks
from malipo import ids, log, tracing
from malipo.clock import Clock
from malipo.errors import Unavailable
from malipo.metrics.process_metrics import Metrics
from malipo.networks.connector import Answer, Connector, PaymentInstruction, Type, Verdict, cannot_query
from malipo.networks.routing import Networks
from malipo.payments.apply_network_answers import AnswerToApply
from malipo.payments.dispatch import AnswerSource, ReceivedAnswer
from malipo.payments.network_work import NetworkWork
from malipo.payments.transaction import Transaction
from malipo.worker.circuit_breaker import CircuitBreaker

AtPoint = Callable[[str], None]

# Added to the duration of a call: how long after the claim it may begin, and the error of clocks and scheduling.
START_SECONDS = 15.0
_MARGIN_SECONDS = 15.0
_AGAIN_SECONDS = 1.0
# How long a reply that only says "the customer is being asked" is kept, to be written together with others. Often the
# callback comes first, and then the reply changes nothing (decision 51).
_KEPT_SECONDS = 1.0


class NetworkCalls:
    """`at_point` is called at each named point of a payment's way, so that a test can stop the process there."""

    def __init__(
        self,
        connector: Connector,
        circuit: CircuitBreaker,
        networks: Networks,
        network_work: NetworkWork,
        metrics: Metrics,
        clock: Clock,
        *,
        lease_seconds: float | None,
        at_point: AtPoint,
    ) -> None:
        self.connector = connector
        self.circuit = circuit
        self.routes = networks.carried_by(connector.name)
        self._networks = networks
        self._network_work = network_work
        self._metrics = metrics
        self._clock = clock
        self._call_seconds = connector.timeout_seconds + 5
        self._tasks: set[asyncio.Task[None]] = set()  # calls under way
        self._written_later: set[asyncio.Task[None]] = set()  # calls that have ended, with a reply that is kept
        self._together: asyncio.Event | None = None  # set when the kept replies are to be written
        self._is_ending = False
        self.may_begin = asyncio.Event()  # a notification came, or there is room for a call again
        self.lease_seconds = lease_seconds or self._call_seconds + START_SECONDS + _MARGIN_SECONDS
        self.at_point = at_point

    @property
    def free(self) -> int:
        """The number of calls that may begin now."""
        return self.connector.concurrency - len(self._tasks)

    def spawn(self, work: Awaitable[None], transaction: Transaction) -> None:
        async def watched() -> None:
            # The request that created the payment ended long ago; the trace is found by the transaction.
            log.bind(transaction=transaction.id)
            try:
                await work
            except Exception as error:
                log.error("worker.payment_broke", error, route=self.connector.name)
            finally:
                if tracing.active is not None:
                    tracing.active.end()

        task = asyncio.get_running_loop().create_task(watched())
        self._tasks.add(task)
        task.add_done_callback(self._leave)

    def _leave(self, task: asyncio.Task[None]) -> None:
        """End a call. If there was no room for another one, a payment may be waiting for its place."""
        if self.free <= 0:
            self.may_begin.set()
        self._tasks.discard(task)

    async def finish(self, *, seconds: float) -> None:
        """Let calls that are under way end. Those that do not are abandoned: they will be queried."""
        self._is_ending = True
        self._write_together()
        under_way = self._tasks | self._written_later
        if under_way:
            await asyncio.wait(under_way, timeout=seconds)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    async def call(
        self, source: AnswerSource, call: Callable[[PaymentInstruction], Awaitable[Answer]], transaction: Transaction
    ) -> Answer:
        began = clocks.monotonic()
        if tracing.active is not None:
            tracing.active.begin_call(
                transaction.id,
                connector=self.connector.name,
                channel=transaction.channel,
                type_=transaction.type,
                act=source,
            )
        try:
            async with asyncio.timeout(self._call_seconds):
                answer = await call(_instruction_of(transaction))
        except TimeoutError:
            answer = Answer(verdict=Verdict.UNKNOWN, code="lost", detail="no answer in time", is_fault=True)
        except Exception as error:
            # A bug in a connector: the outcome of the payment is unknown.
            log.error("network.connector_broke", error, route=self.connector.name)
            answer = Answer(verdict=Verdict.UNKNOWN, code="broken", is_fault=True)
        if tracing.active is not None:
            tracing.active.end_call(verdict=answer.verdict, code=answer.code, is_fault=answer.is_fault)
        self.circuit.note(answer)
        seconds = clocks.monotonic() - began
        self._metrics.count_call(self.connector.name, source, answer.verdict, seconds)
        log.debug(
            "network.answered",
            route=self.connector.name,
            act=source,
            verdict=answer.verdict,
            code=answer.code,
            ms=round(seconds * 1000, 1),
        )
        return answer

    async def report(
        self, transaction: Transaction, source: AnswerSource, answer: Answer, *, asked_at: float | None = None
    ) -> None:
        """Record an answer, and retry for as long as the database is away: a network does not repeat an answer."""
        if answer.alert is not None:
            log.error("network.alert", route=self.connector.name, transaction=transaction.id, alert=answer.alert)
        can_query = self.connector.can_query(transaction.type)
        waits = may_be_written_later(transaction, source, answer, can_query=can_query) and not self._is_ending
        report = AnswerToApply(
            id=ids.mint("hrg_", self._clock()),
            channels=[transaction.channel],
            key=transaction.network_key,
            received=ReceivedAnswer(
                connector=self.connector.name,
                source=source,
                answer=answer,
                cannot_query=cannot_query(self.connector),
                resubmit=self.connector.resubmit(transaction.type),
                routed_to=self._networks.routes.get((transaction.channel, transaction.type)),
                connected=frozenset(self._networks.connectors),
                replied_at=self._clock() if waits else None,
            ),
            asked_at=asked_at,
        )
        if waits:
            await self._wait_to_write_together()
        self.at_point("recording")
        while True:
            try:
                await self._network_work.apply_answer(report)
            except Unavailable as error:
                log.warning("worker.database_away", route=self.connector.name, reason=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
            else:
                return

    async def _wait_to_write_together(self) -> None:
        """Wait for the moment at which all kept replies are written. The call has ended, so another one may begin
        meanwhile."""
        task = asyncio.current_task()
        assert task is not None
        self._leave(task)
        self._written_later.add(task)
        task.add_done_callback(self._written_later.discard)
        if self._together is None:
            self._together = asyncio.Event()
            asyncio.get_running_loop().call_later(_KEPT_SECONDS, self._write_together)
        await self._together.wait()

    def _write_together(self) -> None:
        if self._together is not None:
            self._together.set()
            self._together = None


def may_be_written_later(transaction: Transaction, source: AnswerSource, answer: Answer, *, can_query: bool) -> bool:
    """Whether a reply may be kept for a while: it only says that the customer is being asked. If this worker dies
    before it is written, the payment is queried when the lease ends, as if the reply had been lost.

    A payout's reply is written at once, because its acknowledgement decides whether the payout may be sent again. So is
    a reply with an id that the query needs, and every reply of a network without a query, because a payment without any
    answer is a case for operators.
    """
    return (
        source is AnswerSource.SEND
        and answer.verdict is Verdict.WAITING
        and answer.network_id is None
        and can_query
        and transaction.type is Type.COLLECTION
    )


def _instruction_of(transaction: Transaction) -> PaymentInstruction:
    return PaymentInstruction(
        key=transaction.network_key,
        type=transaction.type,
        phone=transaction.phone,
        amount=transaction.amount,
        note=transaction.description,
        name=transaction.name,
        channel=transaction.channel,
        network_id=transaction.network_id,
    )

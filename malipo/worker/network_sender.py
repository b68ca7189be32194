"""The network sender: claims waiting payments, and sends them to one connector.

Each connector has its own limit of concurrent sends, so that a network that hangs does not delay the others. Open
payments are queried by `network_querier.py`.
"""

from malipo import clock as clocks
from malipo import ids, log
from malipo.clock import Clock
from malipo.payments.claim_for_sending import SendClaim
from malipo.payments.dispatch import AnswerSource
from malipo.payments.network_work import NetworkWork
from malipo.payments.transaction import Transaction
from malipo.restore.restore_detector import RestoreDetector
from malipo.settings import Settings
from malipo.worker.due_work import resend_topic
from malipo.worker.loop_health import LoopHealth
from malipo.worker.network_calls import START_SECONDS, NetworkCalls
from malipo.worker.poll_loop import PAUSE_SECONDS, RARE_LOOK_SECONDS, run_forever, step_seconds


class NetworkSender:
    def __init__(
        self,
        calls: NetworkCalls,
        detector: RestoreDetector,
        network_work: NetworkWork,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._calls = calls
        self._connector = calls.connector
        self._circuit = calls.circuit
        self._detector = detector
        self._network_work = network_work
        self._settings = settings
        self._clock = clock
        self._channels = list(dict.fromkeys(channel for channel, _ in calls.routes))

    def wake(self, topic: str) -> None:
        """Look now, because a notification came."""
        if topic in ("", *self._channels, resend_topic(self._connector.name)):
            self._calls.may_begin.set()

    async def run(self, loops: LoopHealth) -> None:
        """Run until cancelled. After an error it tries again: a sender never ends by itself."""
        seconds = step_seconds(self._settings)
        await run_forever(
            "send",
            self._send_due,
            self._calls.may_begin,
            seconds=seconds,
            pause_seconds=PAUSE_SECONDS,
            look_seconds=RARE_LOOK_SECONDS,
            loops=loops,
            route=self._connector.name,
        )

    async def finish(self, *, seconds: float) -> None:
        await self._calls.finish(seconds=seconds)

    async def _send_due(self) -> bool:
        """Send waiting payments, as far as the concurrency limit allows. Returns whether more may be waiting."""
        if self._circuit.is_open:
            if self._detector.may_send:
                await self._network_work.lapse(self._channels, connector=self._connector.name)
            return False
        free = self._calls.free
        if free <= 0 or not self._detector.may_send:
            return False
        before = self._detector.counted
        age = _Age(self._clock)
        claim = SendClaim(
            id=ids.mint("clm_", self._clock()),
            connector=self._connector.name,
            routes=self._calls.routes,
            most=free,
            lease_seconds=self._calls.lease_seconds,
            lapse_seconds=self._settings.lapse_seconds,
            worker_id=self._detector.worker_id,
        )
        self._calls.at_point("claiming")
        taken = await self._network_work.claim_for_sending(claim)
        if taken.to_send:
            self._calls.at_point("claimed")
            if not await self._detector.may_leave(taken.batch, before=before):
                await self._network_work.take_back(claim)
                return False
        for transaction in taken.to_send:
            self._calls.spawn(self._send(transaction, age), transaction)
        return may_be_more(len(taken.to_send) + len(taken.lapsed), free=free, routes=len(self._calls.routes))

    async def _send(self, transaction: Transaction, age: "_Age") -> None:
        if age.seconds() >= min(START_SECONDS, self._calls.lease_seconds / 2):
            # The process or the machine was paused. Other workers may already be querying this payment, so it is not
            # sent.
            log.warning("worker.claim_too_old", transaction=transaction.id)
            return
        self._calls.at_point("sending")
        answer = await self._calls.call(AnswerSource.SEND, self._connector.send, transaction)
        self._calls.at_point("answered")
        await self._calls.report(transaction, AnswerSource.SEND, answer)
        self._calls.at_point("recorded")


def may_be_more(claimed: int, *, free: int, routes: int) -> bool:
    """Whether more payments may be waiting than were claimed. A network that carries no channel has no routes.

    Each route has its share of the places, and batches have up to a quarter of all. A route with more waiting payments
    has filled its share. So if fewer than half a share were claimed, no more are waiting.
    """
    share = free // max(routes, 1)
    return claimed >= max(share // 2, 1)


class _Age:
    """The age of a claim: the larger of two measures, because wall time can be set back, and monotonic time stops while
    the machine is suspended."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began, self._ticked = clock(), clocks.monotonic()

    def seconds(self) -> float:
        return max((self._clock() - self._began).total_seconds(), clocks.monotonic() - self._ticked)

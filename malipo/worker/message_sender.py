"""Sends messages by e-mail, and writes those that come by the clock. Only where a mail server is set.

Several workers may do it at once: each message is claimed, and each of the others is written once for its cause.
"""

from collections.abc import Callable

from malipo.clock import Clock
from malipo.db import Database
from malipo.mail.send import LEASE, Post, SendMessages
from malipo.messages.notify_low_wallets import notify_low_wallets
from malipo.messages.summarize_yesterday import summarize_yesterday
from malipo.metrics.process_metrics import Metrics
from malipo.worker.loop_health import LoopHealth
from malipo.worker.poll_loop import run_forever

_LOOK_SECONDS = 5.0
_CLOCK_SECONDS = 60.0


class MessageSender:
    def __init__(
        self, database: Database, post: Post, metrics: Metrics, clock: Clock, *, may_send: Callable[[], bool]
    ) -> None:
        self._database = database
        self._clock = clock
        self._may_send = may_send  # whether this worker has compared the database with its mark
        self._send = SendMessages(database, post, metrics, clock)

    async def send(self, loops: LoopHealth) -> None:
        """Run until cancelled."""
        await run_forever("messages", self.step, seconds=LEASE.total_seconds(), look_seconds=_LOOK_SECONDS, loops=loops)

    async def watch(self, loops: LoopHealth) -> None:
        """Run until cancelled."""
        await run_forever("message_clock", self.look, seconds=60.0, look_seconds=_CLOCK_SECONDS, loops=loops)

    async def step(self) -> bool:
        return await self._send() if self._may_send() else False

    async def look(self) -> bool:
        """Write the messages that are due by the clock."""
        if self._may_send():
            async with self._database.begin() as tx:
                await notify_low_wallets(tx, now=self._clock())
            async with self._database.begin() as tx:
                await summarize_yesterday(tx, now=self._clock())
        return False

"""Sends callbacks to the registered addresses, with retries, and logs how they were acknowledged.

It does not know what a result says: a gateway formats it.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from malipo_simulator.callback_client import CallbackClient
from malipo_simulator.control import Control
from malipo_simulator.gateways.gateway import Gateway, Notice
from malipo_simulator.network import Network
from malipo_simulator.request_log import RequestLog, RequestLogEntry
from malipo_simulator.transaction import GatewayName, Transaction

# Before each try.
_WAITS_SECONDS = (0, 2, 4, 8)
_MOST_AT_ONCE = 200
# Of three callbacks two come together, which is the harder case, and one later.
_LATE_TELLING_SECONDS = 1


class CallbackSender:
    def __init__(self, network: Network, gateways: Mapping[GatewayName, Gateway], seen: RequestLog) -> None:
        self._network = network
        self._gateways = gateways
        self._seen = seen
        self._control: Control = network.control
        self._now: Callable[[], float] = network.now
        self._tasks: set[asyncio.Task[object]] = set()
        self._room = asyncio.Semaphore(_MOST_AT_ONCE)
        self._lines = CallbackClient()

    def tell(self, transaction: Transaction) -> None:
        url = self._network.memory.callback_urls.get(transaction.gateway)
        notice = self._gateways[transaction.gateway].notice(transaction) if url and transaction.callbacks else None
        if url is None or notice is None:
            self._network.told(transaction)
            return
        self._begin(self._tell(transaction, url, notice))

    def tell_opening(self, transaction: Transaction) -> None:
        """The callback that some networks send as soon as they have accepted a payment."""
        url = self._network.memory.callback_urls.get(transaction.gateway)
        notice = self._gateways[transaction.gateway].opening(transaction) if url and transaction.callbacks else None
        if url is None or notice is None:
            self._network.told(transaction, is_opening=True)
            return
        self._begin(self._tell(transaction, url, notice, is_opening=True))

    def tell_aside(self, transaction: Transaction, notice: Notice) -> None:
        """An interim callback, which may be lost: sent once."""
        url = self._network.memory.callback_urls.get(transaction.gateway)
        # Meanwhile it may have been forgotten.
        if url is not None and transaction.id in self._network.memory.by_id:
            self._begin(self._try(transaction, url, notice, 1))

    def _begin(self, telling: Coroutine[Any, Any, object]) -> None:
        task = asyncio.get_running_loop().create_task(telling)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell(self, transaction: Transaction, url: str, notice: Notice, *, is_opening: bool = False) -> None:
        if transaction.tell_at:
            await asyncio.sleep(max(0.0, transaction.tell_at - self._now()))
        if transaction.callbacks == 1:
            await self._deliver(transaction, url, notice)
        else:
            await asyncio.gather(
                *(
                    self._deliver(transaction, url, notice, after_seconds=0 if number < 2 else _LATE_TELLING_SECONDS)
                    for number in range(transaction.callbacks)
                )
            )
        self._network.told(transaction, is_opening=is_opening)

    async def _deliver(self, transaction: Transaction, url: str, notice: Notice, after_seconds: float = 0) -> None:
        for attempt, wait_seconds in enumerate(_WAITS_SECONDS, 1):
            delay_seconds = (wait_seconds + (after_seconds if attempt == 1 else 0)) / self._control.speed
            if delay_seconds:
                await asyncio.sleep(delay_seconds)
            if await self._try(transaction, url, notice, attempt):
                return

    async def _try(self, transaction: Transaction, url: str, notice: Notice, attempt: int) -> bool:
        async with self._room:
            entry = RequestLogEntry(self._now(), transaction.gateway, "out", "POST", url, {}, notice.body)
            entry.phone, entry.reference, entry.attempt = transaction.phone, transaction.reference, attempt
            self._seen.add(entry)
            try:
                answer = await self._lines.post(url, notice.body, notice.content_type)
            except (OSError, ValueError) as error:
                entry.answered(None, b"", self._now())
                entry.verdict = f"not delivered: {str(error) or type(error).__name__}"
                return False
            entry.answered(answer.status, answer.body, self._now())
            if not 200 <= answer.status < 300:
                entry.verdict = f"not accepted: HTTP {answer.status}"
                return False
            wrong = notice.verdict(answer.body)
            entry.verdict = f"acknowledged, but wrongly: {wrong}" if wrong else "acknowledged"
            return True

    def forget(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        self.forget()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._lines.close()

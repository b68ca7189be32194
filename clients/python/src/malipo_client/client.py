"""The two clients. `Malipo` blocks and may be shared by threads; `AsyncMalipo` is awaited, on any event loop."""

from __future__ import annotations

import functools
import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from malipo_client.connections import Connections
from malipo_client.errors import MalipoError, error_of
from malipo_client.operation import Async, Flow, Mode, Sync
from malipo_client.request import Answer, Page, Request
from malipo_client.resources.batches import Batches
from malipo_client.resources.events import Events
from malipo_client.resources.payments import Payments
from malipo_client.resources.wallet import Channels, Recipients, Wallets
from malipo_client.resources.webhooks import Webhooks
from malipo_client.retry import pause_before_retry
from malipo_client.service_address import ServiceAddress

if TYPE_CHECKING:
    from ssl import SSLContext

    from malipo_client.async_connections import AsyncConnections

T = TypeVar("T")
_USER_AGENT = "malipo-client-python"


class _Client(Generic[Mode]):
    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 3,
        language: str | None = None,
        tls: SSLContext | None = None,
    ) -> None:
        """The key and the address are those of MALIPO_API_KEY and MALIPO_URL, unless they are given.

        `timeout`: seconds to connect, and seconds to wait for an answer. `retries`: how often a call is sent again,
        where that is safe. `language`: of `failure_reason`, "en" or "sw". `tls`: an SSLContext, for a certificate
        authority of your own.
        """
        self._address = ServiceAddress(api_key, base_url, language=language, user_agent=_USER_AGENT)
        self._timeout = timeout
        self._retries = retries
        self._tls = tls
        self.payments: Payments[Mode] = Payments(self)
        self.batches: Batches[Mode] = Batches(self)
        self.wallet: Wallets[Mode] = Wallets(self)
        self.channels: Channels[Mode] = Channels(self)
        self.recipients: Recipients[Mode] = Recipients(self)
        self.events: Events[Mode] = Events(self)
        self.webhooks: Webhooks[Mode] = Webhooks(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._address.url!r})"

    def _result(self, request: Request[T], answer: Answer) -> T:
        if not 200 <= answer.status < 300:
            raise error_of(answer)
        return request.read(answer)

    def _pause(self, request: Request[Any], error: MalipoError, failures: int) -> float:
        """How long to wait before the next attempt; raises the error if there is to be none."""
        error.idempotency_key = request.idempotency_key
        pause = pause_before_retry(request, error, failures=failures, retries=self._retries)
        if pause is None:
            raise error
        return pause


class Malipo(_Client[Sync]):
    """The client that blocks. Threads may share one."""

    @functools.cached_property
    def _connections(self) -> Connections:
        return Connections(self._address, timeout=self._timeout, tls=self._tls)

    def close(self) -> None:
        """Close the connections that are kept open. The next call opens new ones."""
        self._connections.close()

    def __enter__(self) -> Malipo:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, request: Request[T]) -> T:
        failures = 0
        while True:
            try:
                return self._result(request, self._connections.send(request))
            except MalipoError as error:
                failures += 1
                pause = self._pause(request, error, failures)
            time.sleep(pause)

    def _iterate(self, request: Request[Page[T]]) -> Iterator[T]:
        following: Request[Page[T]] | None = request
        while following is not None:
            page = self._send(following)
            yield from page.items
            following = page.following

    def _run(self, flow: Flow[T]) -> T:
        answer: Any = None
        while True:
            try:
                request = flow.send(answer)
            except StopIteration as end:
                result: T = end.value
                return result
            answer = self._send(request)


class AsyncMalipo(_Client[Async]):
    """The client that is awaited. Tasks may share one."""

    @functools.cached_property
    def _connections(self) -> AsyncConnections:
        from malipo_client.async_connections import AsyncConnections  # asyncio is loaded only for those who use it.

        return AsyncConnections(self._address, timeout=self._timeout, tls=self._tls)

    async def close(self) -> None:
        """Close the connections that are kept open. The next call opens new ones."""
        await self._connections.close()

    async def __aenter__(self) -> AsyncMalipo:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _send(self, request: Request[T]) -> T:
        failures = 0
        while True:
            try:
                return self._result(request, await self._connections.send(request))
            except MalipoError as error:
                failures += 1
                pause = self._pause(request, error, failures)
            await _sleep(pause)

    async def _iterate(self, request: Request[Page[T]]) -> AsyncIterator[T]:
        following: Request[Page[T]] | None = request
        while following is not None:
            page = await self._send(following)
            for item in page.items:
                yield item
            following = page.following

    async def _run(self, flow: Flow[T]) -> T:
        answer: Any = None
        while True:
            try:
                request = flow.send(answer)
            except StopIteration as end:
                result: T = end.value
                return result
            answer = await self._send(request)


async def _sleep(seconds: float) -> None:
    import asyncio

    await asyncio.sleep(seconds)

"""The two clients. `Malipo` blocks and may be shared by threads; `AsyncMalipo` is awaited, on any event loop."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from malipo_client.connections import Connections
from malipo_client.errors import MalipoError, error_of
from malipo_client.operation import Async, Flow, Mode, Sync
from malipo_client.request import Answer, Page, Request
from malipo_client.resources.batches import Batches
from malipo_client.resources.events import Events
from malipo_client.resources.links import Links
from malipo_client.resources.payments import Payments
from malipo_client.resources.settlements import Settlements
from malipo_client.resources.wallet import Channels, Recipients, Wallets
from malipo_client.resources.webhooks import Webhooks
from malipo_client.retry import Retries
from malipo_client.service_address import ServiceAddress

if TYPE_CHECKING:
    from ssl import SSLContext

T = TypeVar("T")


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
        """The key and the address: given, or of MALIPO_API_KEY and MALIPO_URL. Without one of them, ValueError.

        `timeout`: seconds to connect, and seconds to wait for an answer. `retries`: how often a call is sent again,
        where that is safe. A rate limit does not count: it is waited for, up to a minute in all; with 0 retries it is
        not. `language`: of `failure_reason`, "en" or "sw". `tls`: an SSLContext, for a certificate authority of your
        own.
        """
        self._address = ServiceAddress(api_key, base_url, language=language)
        self._retries = retries
        self._prepare(timeout, tls)
        self.payments: Payments[Mode] = Payments(self)
        self.batches: Batches[Mode] = Batches(self)
        self.links: Links[Mode] = Links(self)
        self.settlements: Settlements[Mode] = Settlements(self)
        self.wallet: Wallets[Mode] = Wallets(self)
        self.channels: Channels[Mode] = Channels(self)
        self.recipients: Recipients[Mode] = Recipients(self)
        self.events: Events[Mode] = Events(self)
        self.webhooks: Webhooks[Mode] = Webhooks(self)

    def _prepare(self, timeout: float, tls: SSLContext | None) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._address.url!r})"

    def _result(self, request: Request[T], answer: Answer) -> T:
        if not 200 <= answer.status < 300:
            raise error_of(answer)
        return request.read(answer)


class Malipo(_Client[Sync]):
    """The client that blocks. Threads may share one."""

    def _prepare(self, timeout: float, tls: SSLContext | None) -> None:
        self._connections = Connections(self._address, timeout=timeout, tls=tls)

    def close(self) -> None:
        """Close the connections that are kept open. The next call opens new ones."""
        self._connections.close()

    def __enter__(self) -> Malipo:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, request: Request[T]) -> T:
        retries, pause = Retries(request, most=self._retries), request.pause_seconds
        while True:
            time.sleep(pause)
            try:
                return self._result(request, self._connections.send(request))
            except MalipoError as error:
                pause = retries.pause_after(error)

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

    def _prepare(self, timeout: float, tls: SSLContext | None) -> None:
        from malipo_client.async_connections import AsyncConnections  # asyncio is loaded only for those who use it.

        self._connections = AsyncConnections(self._address, timeout=timeout, tls=tls)

    async def close(self) -> None:
        """Close the connections that are kept open. The next call opens new ones."""
        await self._connections.close()

    async def __aenter__(self) -> AsyncMalipo:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _send(self, request: Request[T]) -> T:
        retries, pause = Retries(request, most=self._retries), request.pause_seconds
        while True:
            await _sleep(pause)
            try:
                return self._result(request, await self._connections.send(request))
            except MalipoError as error:
                pause = retries.pause_after(error)

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

    if seconds:
        await asyncio.sleep(seconds)

"""Both clients through one door: what holds for one holds for the other."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from malipo_client import AsyncMalipo, Malipo

from tests.cli.listen.conftest import feed, receiver  # noqa: F401 - a feed to listen to, and who is told
from tests.clients.python.misbehaving_service import MisbehavingService, misbehaving

Call = Callable[..., Any]


@pytest.fixture
def service() -> Iterator[MisbehavingService]:
    with misbehaving() as service:
        yield service


class Both:
    """`call("payments.get", "txn_1")` of a client of one kind."""

    def __init__(self, client: Malipo | AsyncMalipo, loop: asyncio.AbstractEventLoop) -> None:
        self.client = client
        self._loop = loop

    def __call__(self, name: str, *arguments: Any, **named: Any) -> Any:
        resource, method = name.split(".")
        result = getattr(getattr(self.client, resource), method)(*arguments, **named)
        if inspect.isasyncgen(result):
            return self._loop.run_until_complete(_all(result))
        if inspect.isawaitable(result):
            return self._loop.run_until_complete(_awaited(result))
        return list(result) if inspect.isgenerator(result) else result

    def close(self) -> None:
        done = self.client.close()
        if done is not None:
            self._loop.run_until_complete(done)


async def _all(items: Any) -> list[Any]:
    return [each async for each in items]


async def _awaited(result: Any) -> Any:
    return await result


@pytest.fixture(params=[Malipo, AsyncMalipo])
def connect(request: pytest.FixtureRequest, service: MisbehavingService) -> Iterator[Callable[..., Both]]:
    """Makes a client of the service."""
    loop, made = asyncio.new_event_loop(), []

    def make(**options: Any) -> Both:
        made.append(Both(request.param("mlp_live_key", options.pop("base_url", service.url), **options), loop))
        return made[-1]

    yield make
    for each in made:
        each.close()
    loop.close()


@pytest.fixture
def call(connect: Callable[..., Both]) -> Both:
    return connect()

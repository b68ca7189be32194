"""A token is fetched once for everybody, and again before it ends."""

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest

from malipo.networks.token_cache import TokenCache


class Portal:
    """Gives out tokens, when it is let."""

    def __init__(self, *, seconds: float = 60) -> None:
        self.fetches = 0
        self.seconds = seconds
        self.trouble: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def fetch(self) -> tuple[str, float]:
        self.fetches += 1
        mine = self.fetches
        await self.gate.wait()
        if self.trouble is not None:
            raise self.trouble
        return f"token-{mine}", self.seconds


@pytest.fixture
def portal() -> Portal:
    return Portal()


@pytest.fixture
def held(portal: Portal) -> TokenCache:
    return TokenCache(portal.fetch)


async def _asking(held: TokenCache, number: int) -> list[asyncio.Task[str]]:
    tasks = [asyncio.create_task(held.get()) for _ in range(number)]
    await asyncio.sleep(0)
    return tasks


async def test_nothing_is_fetched_before_it_is_needed_and_then_once(portal: Portal, held: TokenCache) -> None:
    assert portal.fetches == 0
    assert [await held.get() for _ in range(3)] == ["token-1"] * 3
    assert portal.fetches == 1


async def test_however_many_ask_at_once_one_fetches(portal: Portal, held: TokenCache) -> None:
    portal.gate.clear()
    asking = await _asking(held, 50)
    portal.gate.set()
    assert set(await asyncio.gather(*asking)) == {"token-1"}
    assert portal.fetches == 1


async def test_whoever_is_cancelled_does_not_take_it_from_the_others(portal: Portal, held: TokenCache) -> None:
    portal.gate.clear()
    first, *others = await _asking(held, 5)
    first.cancel()
    await asyncio.sleep(0)
    portal.gate.set()
    assert await asyncio.gather(*others) == ["token-1"] * 4
    with pytest.raises(asyncio.CancelledError):
        await first
    assert portal.fetches == 1


async def test_what_goes_wrong_is_heard_by_everybody_and_the_next_who_asks_tries_again(
    portal: Portal, held: TokenCache
) -> None:
    portal.gate.clear()
    portal.trouble = ConnectionError("away")
    asking = await _asking(held, 3)
    portal.gate.set()
    assert [type(each) for each in await asyncio.gather(*asking, return_exceptions=True)] == [ConnectionError] * 3
    assert portal.fetches == 1

    portal.trouble = None
    assert await held.get() == "token-2"


async def test_trouble_that_nobody_waits_for_any_more_makes_no_noise(portal: Portal, held: TokenCache) -> None:
    noise: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    before: Callable[..., Any] | None = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: noise.append(context))
    try:
        portal.gate.clear()
        portal.trouble = ConnectionError("away")
        for each in (asking := await _asking(held, 3)):
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        portal.gate.set()
        await asyncio.sleep(0.01)
        del asking
        gc.collect()
        await asyncio.sleep(0)
    finally:
        loop.set_exception_handler(before)
    assert noise == []
    portal.trouble = None
    assert await held.get() == "token-2", "and does not stay"


async def test_it_is_fetched_again_when_its_time_is_over() -> None:
    portal = Portal(seconds=0.05)
    held = TokenCache(portal.fetch)
    assert await held.get() == await held.get() == "token-1"
    await asyncio.sleep(0.06)
    assert await held.get() == "token-2"


async def test_a_token_that_is_good_for_no_time_is_fetched_each_time() -> None:
    portal = Portal(seconds=0)
    held = TokenCache(portal.fetch)
    assert [await held.get(), await held.get()] == ["token-1", "token-2"]


async def test_whoever_is_told_that_it_is_over_drops_it_once_for_all(portal: Portal, held: TokenCache) -> None:
    token = await held.get()
    held.drop(token)
    assert await held.get() == "token-2"
    held.drop(token)  # Somebody who was slower has the old one in hand.
    assert await held.get() == "token-2"
    assert portal.fetches == 2


async def test_the_old_one_is_not_used_while_the_new_one_is_fetched(portal: Portal, held: TokenCache) -> None:
    token = await held.get()
    held.drop(token)
    portal.gate.clear()
    asking = await _asking(held, 2)
    held.drop(token)
    portal.gate.set()
    assert await asyncio.gather(*asking) == ["token-2"] * 2
    assert portal.fetches == 2

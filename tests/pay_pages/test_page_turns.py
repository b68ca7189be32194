"""A flood of customers' pages: few are rendered at once, some wait, and the others are refused at once."""

import asyncio

import pytest

from malipo.pay_pages.link_guesses import Misses, TooManyMisses
from malipo.pay_pages.page_turns import PageTurns, TooManyPages


async def test_no_more_than_so_many_are_worked_on_and_so_many_wait() -> None:
    turns, go, under_way, most = PageTurns(at_once=2, most_waiting=3), asyncio.Event(), 0, 0

    async def page() -> str:
        nonlocal under_way, most
        try:
            async with turns.taken("a"):
                under_way += 1
                most = max(most, under_way)
                await go.wait()
                under_way -= 1
        except TooManyPages:
            return "later"
        return "shown"

    asked = []
    for _ in range(9):
        asked.append(asyncio.ensure_future(page()))
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [each.done() for each in asked].count(True) == 4, "without waiting"
    go.set()
    assert sorted(await asyncio.gather(*asked)) == ["later"] * 4 + ["shown"] * 5
    assert most == 2
    assert await page() == "shown", "there is room again"


async def test_who_waits_for_too_long_is_told_so_and_leaves_no_place_taken() -> None:
    turns = PageTurns(at_once=1, most_waiting=1, wait_seconds=0.01)
    async with turns.taken("a"):
        for _ in range(3):
            with pytest.raises(TooManyPages):
                async with turns.taken("a"):
                    raise AssertionError("there was no turn")
    async with turns.taken("a"):
        pass


async def test_what_a_page_raises_is_its_own() -> None:
    turns = PageTurns(at_once=1, most_waiting=1)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            async with turns.taken("a"):
                raise ZeroDivisionError
    async with turns.taken("a"):
        pass


async def test_addresses_take_turns_and_none_has_all_places() -> None:
    turns, shown = PageTurns(at_once=1, most_waiting=6, most_of_address=4), list[str]()

    async def page(address: str) -> None:
        try:
            async with turns.taken(address):
                shown.append(address)
        except TooManyPages:
            shown.append(f"{address} later")

    async with turns.taken("flood"):
        asked = []
        for address in ["flood"] * 6 + ["b", "c", "d"]:
            asked.append(asyncio.ensure_future(page(address)))
            await asyncio.sleep(0)
        assert shown == ["flood later"] * 2 + ["d later"], "four of it wait, and six in all"
        shown.clear()
    await asyncio.gather(*asked)
    assert shown == ["flood", "b", "c", "flood", "flood", "flood"]


async def test_who_leaves_while_waiting_leaves_no_place_taken() -> None:
    turns = PageTurns(at_once=1, most_waiting=2)

    async def page() -> str:
        async with turns.taken("a"):
            return "shown"

    async with turns.taken("a"):
        gone, stays = asyncio.ensure_future(page()), asyncio.ensure_future(page())
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        third = asyncio.ensure_future(page())
        await asyncio.sleep(0)
    # One of them leaves just when it has been given its turn.
    stays.cancel()
    assert await third == "shown"
    assert await page() == "shown"


async def test_a_turn_that_comes_in_the_moment_in_which_somebody_leaves_goes_to_the_next() -> None:
    """It was lost, with an error for who gave it on: after four of them no page was shown any more."""
    turns = PageTurns(at_once=1)

    async def look(address: str) -> str:
        async with turns.taken(address):
            return address

    for _ in range(3):
        async with turns.taken("10.0.0.1"):
            leaving, also, staying = (asyncio.create_task(look(f"10.0.0.{each}")) for each in (2, 2, 3))
            await asyncio.sleep(0)
            leaving.cancel()
            also.cancel()
        assert await staying == "10.0.0.3"
        assert all(
            isinstance(each, asyncio.CancelledError)
            for each in await asyncio.gather(leaving, also, return_exceptions=True)
        )
    async with turns.taken("10.0.0.4"):
        pass


def test_misses_are_counted_for_each_address_and_forgotten_after_a_minute() -> None:
    misses = Misses(3)
    for at in (0, 10, 20):
        misses.check("a", now_ms=at)
        misses.note("a", now_ms=at)
    with pytest.raises(TooManyMisses):
        misses.check("a", now_ms=30)
    misses.check("b", now_ms=30)
    with pytest.raises(TooManyMisses):
        misses.check("a", now_ms=59_999)
    misses.check("a", now_ms=60_001)
    misses.note("b", now_ms=200_000)
    assert misses.size == 1

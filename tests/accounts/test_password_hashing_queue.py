"""The order of the queue for hashing passwords: a flood of guesses does not delay a known browser."""

import asyncio

import pytest

from malipo.accounts.password_hashing_queue import AT_ONCE, MOST_WAITING, HashingTurns, TooBusy


class Guesses:
    """Log-ins that hash until they are let go, one at a time."""

    def __init__(self) -> None:
        self.turns = HashingTurns()
        self.done: list[str] = []
        self._go = asyncio.Semaphore(0)

    async def hash(self, name: str, *, is_first: bool = False) -> None:
        async with self.turns.turn(is_first=is_first):
            await self._go.acquire()
            self.done.append(name)

    def begin(self, name: str, *, is_first: bool = False) -> asyncio.Task[None]:
        return asyncio.ensure_future(self.hash(name, is_first=is_first))

    async def let_go(self, count: int) -> None:
        for _ in range(count):
            self._go.release()
        for _ in range(10 * count):
            await asyncio.sleep(0)


async def flood(guesses: Guesses) -> list[asyncio.Task[None]]:
    """As many strangers as there is room for."""
    tasks = [guesses.begin(f"stranger {n}") for n in range(AT_ONCE + MOST_WAITING)]
    await asyncio.sleep(0)
    return tasks


async def test_strangers_wait_up_to_a_bound_and_are_refused_over_it() -> None:
    guesses = Guesses()
    tasks = await flood(guesses)
    with pytest.raises(TooBusy) as refused:
        await asyncio.wait_for(guesses.hash("one too many"), 60)
    assert refused.value.retry_after_seconds >= 1
    await guesses.let_go(len(tasks))
    await asyncio.gather(*tasks)
    assert len(guesses.done) == AT_ONCE + MOST_WAITING
    after = guesses.begin("later")
    await guesses.let_go(1)
    await after


async def test_a_known_browser_is_next() -> None:
    guesses = Guesses()
    tasks = await flood(guesses)
    tasks.append(guesses.begin("the owner", is_first=True))
    await asyncio.sleep(0)
    await guesses.let_go(AT_ONCE + 1)
    assert "the owner" in guesses.done[: AT_ONCE + 1]
    await guesses.let_go(len(tasks))
    await asyncio.gather(*tasks)


async def test_whoever_hangs_up_while_waiting_leaves_their_place() -> None:
    guesses = Guesses()
    tasks = await flood(guesses)
    for task in tasks[AT_ONCE:]:
        task.cancel()
    await asyncio.gather(*tasks[AT_ONCE:], return_exceptions=True)
    last = guesses.begin("last")
    await guesses.let_go(AT_ONCE + 1)
    await asyncio.gather(*tasks[:AT_ONCE], last)
    assert guesses.done[-1] == "last"


async def test_a_turn_that_comes_to_somebody_who_hangs_up_in_that_moment_is_not_lost() -> None:
    guesses = Guesses()
    tasks = [guesses.begin(f"stranger {n}") for n in range(AT_ONCE + 1)]
    following = guesses.begin("following")
    await asyncio.sleep(0)
    for task in tasks[:AT_ONCE]:
        task.cancel()  # Their turns pass on,
    tasks[AT_ONCE].cancel()  # and whoever would have one is gone.
    await asyncio.gather(*tasks, return_exceptions=True)
    await guesses.let_go(1)
    await following
    rest = [guesses.begin(f"rest {n}") for n in range(AT_ONCE)]
    await guesses.let_go(AT_ONCE)
    await asyncio.gather(*rest)

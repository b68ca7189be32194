"""How loops of a worker wait: a notification after a pause is followed at once, those that come sooner share a step."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from malipo.worker.poll_loop import run_forever

PAUSE_SECONDS = 0.3


class Steps:
    """When each step began; the first `full` of them leave something."""

    def __init__(self, *, full: int = 0) -> None:
        self.wake = asyncio.Event()
        self.began: list[float] = []
        self._full = full
        self._changed = asyncio.Condition()

    async def __call__(self) -> bool:
        async with self._changed:
            self.began.append(asyncio.get_running_loop().time())
            self._changed.notify_all()
        return len(self.began) <= self._full

    async def until(self, number: int) -> None:
        async with self._changed, asyncio.timeout(240):
            await self._changed.wait_for(lambda: len(self.began) >= number)

    @asynccontextmanager
    async def running(self, *, pause_seconds: float = PAUSE_SECONDS) -> AsyncIterator[None]:
        task = asyncio.ensure_future(
            run_forever("step", self, self.wake, seconds=10, pause_seconds=pause_seconds, look_seconds=60)
        )
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_notifications_that_come_during_a_pause_share_one_step_after_it() -> None:
    steps = Steps()
    async with steps.running():
        await steps.until(1)
        for _ in range(5):
            steps.wake.set()
            await asyncio.sleep(0)
        await steps.until(2)
        assert steps.began[1] - steps.began[0] >= PAUSE_SECONDS - 0.01
        await asyncio.sleep(2 * PAUSE_SECONDS)
        assert len(steps.began) == 2, "what was told of during the pause was done by the step after it"


async def test_a_notification_after_a_pause_is_followed_at_once() -> None:
    steps = Steps()
    async with steps.running():
        await steps.until(1)
        await asyncio.sleep(PAUSE_SECONDS)
        told_at = asyncio.get_running_loop().time()
        steps.wake.set()
        await steps.until(2)
        assert steps.began[1] - told_at < PAUSE_SECONDS


@pytest.mark.parametrize("full", [1, 3])
async def test_a_step_that_has_left_something_is_followed_by_another_without_a_pause(full: int) -> None:
    steps = Steps(full=full)
    async with steps.running(pause_seconds=60):
        await steps.until(full + 1)


async def test_what_is_told_of_during_a_step_is_followed_by_another_one() -> None:
    steps = Steps()

    async def step() -> bool:
        is_first = not steps.began
        await steps()
        if is_first:
            steps.wake.set()  # committed, perhaps, after the step has looked
        return False

    task = asyncio.ensure_future(run_forever("step", step, steps.wake, seconds=10, look_seconds=60))
    await steps.until(2)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

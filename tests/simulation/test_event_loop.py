"""The loop of the simulation: virtual time, processes with queues of their own, kills and pauses."""

import asyncio

import pytest

from simulation.event_loop import PROCESS, LoopStuck
from tests.simulation.loops import opened


def test_time_jumps_to_the_next_timer_and_no_further() -> None:
    with opened() as loop:

        async def wait() -> list[float]:
            seen = []
            for seconds in (3600, 0.25, 86_400):
                await asyncio.sleep(seconds)
                seen.append(loop.time())
            return seen

        assert loop.run_until_complete(wait()) == [3600, 3600.25, 90_000.25]


def test_time_stands_still_while_anybody_has_something_to_do() -> None:
    with opened() as loop:

        async def be_busy() -> float:
            for _ in range(1000):
                await asyncio.sleep(0)
            return loop.time()

        async def both() -> float:
            asleep = loop.start("asleep", asyncio.sleep(0.000_001))
            ended: float = await loop.start("busy", be_busy())
            await asleep
            return ended

        assert loop.run_until_complete(both()) == 0.0


def test_when_nobody_can_go_on_and_no_timer_helps_it_says_so() -> None:
    with opened() as loop, pytest.raises(LoopStuck, match="nobody has anything to do"):
        loop.run_until_complete(loop.create_future())


def _order(seed: int) -> list[str]:
    """Who went when: three processes with five callbacks each."""
    seen: list[str] = []
    with opened(seed) as loop:
        for process in ("api", "worker", "networks"):
            for number in range(5):
                loop.call_soon(seen.append, f"{process} {number}", context=loop.context_of(process))
        loop.run_until_complete(asyncio.sleep(1))
    return seen


def test_within_a_process_callbacks_keep_their_order() -> None:
    for seed in range(20):
        for process in ("api", "worker", "networks"):
            assert [each for each in _order(seed) if each.startswith(process)] == [f"{process} {n}" for n in range(5)]


def test_the_seed_decides_between_processes() -> None:
    assert all(_order(seed) == _order(seed) for seed in range(20))
    assert len({tuple(_order(seed)) for seed in range(20)}) > 10


def test_what_a_task_starts_belongs_to_its_process() -> None:
    with opened() as loop:

        async def child() -> str:
            await asyncio.sleep(1)
            return PROCESS.get()

        async def parent() -> str:
            return await asyncio.create_task(child())

        assert loop.run_until_complete(loop.start("worker", parent())) == "worker"


def test_a_killed_process_runs_nothing_any_more_not_even_a_finally() -> None:
    seen: list[str] = []
    with opened() as loop:

        async def live() -> None:
            try:
                seen.append("began")
                await asyncio.sleep(5)
                seen.append("went on")
            finally:
                seen.append("cleaned up")

        async def watch() -> None:
            loop.start("worker", live())
            loop.call_later(7, seen.append, "timer", context=loop.context_of("worker"))
            await asyncio.sleep(1)
            loop.call_soon(seen.append, "queued", context=loop.context_of("worker"))
            loop.kill("worker")
            loop.call_soon(seen.append, "sent to the dead", context=loop.context_of("worker"))
            await asyncio.sleep(60)
            loop.start("worker.2", live())  # Another life.
            await asyncio.sleep(1)

        loop.run_until_complete(watch())
        assert seen == ["began", "began"]
        assert loop.is_dead("worker")
        assert not loop.is_dead("worker.2")


def test_a_process_can_be_killed_before_any_of_its_steps() -> None:
    seen: list[int] = []
    steps: list[str] = []
    with opened() as loop:

        async def live() -> None:
            for number in range(10):
                seen.append(number)
                await asyncio.sleep(0)

        def kill(process: str) -> None:
            steps.append(process)
            if steps.count("worker") == 4:
                loop.kill("worker")

        loop.before_step = kill
        loop.start("worker", live())
        loop.run_until_complete(asyncio.sleep(1))
        assert seen == [0, 1, 2]


def test_a_paused_process_wakes_late_and_others_do_not() -> None:
    woken: dict[str, float] = {}
    with opened() as loop:

        async def wake(process: str) -> None:
            await asyncio.sleep(2)
            woken[process] = loop.time()

        async def watch() -> None:
            loop.start("worker", wake("worker"))
            loop.start("api", wake("api"))
            await asyncio.sleep(1)
            loop.pause("worker", 20)
            loop.pause("worker", 5)  # A shorter pause does not end a longer one.
            await asyncio.sleep(30)

        loop.run_until_complete(watch())
    assert woken == {"api": 2.0, "worker": 21.0}


def test_the_history_is_the_same_for_the_same_turns_and_no_other() -> None:
    def digest(seed: int) -> str:
        with opened(seed) as loop:
            for process in ("api", "worker"):
                for _ in range(10):
                    loop.call_soon(lambda: None, context=loop.context_of(process))
            loop.run_until_complete(asyncio.sleep(1))
            return loop.history.digest

    assert digest(1) == digest(1)
    assert len({digest(seed) for seed in range(10)}) > 5


def test_what_is_meant_for_a_thread_is_done_at_once() -> None:
    with opened() as loop:

        def fail() -> None:
            raise ValueError("as it would in a thread")

        async def ask() -> int:
            with pytest.raises(ValueError, match="as it would"):
                await loop.run_in_executor(None, fail)
            answer: int = await loop.run_in_executor(None, max, 7, 4)
            return answer

        assert loop.run_until_complete(ask()) == 7

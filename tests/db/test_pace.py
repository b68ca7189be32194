"""The pause between commits beyond the minimum, by the number of arrivals during it."""

import asyncio

import pytest

from malipo.db.pace import Pace

PACE = Pace(least_seconds=0.05, most_seconds=0.15, enough=8)


@pytest.mark.parametrize(
    ("waiting", "more_ms"),
    [
        (0, 0),  # nobody waits: whoever comes next is served at once
        (1, 100),  # eight would take 400 ms, which is too long
        (2, 100),
        (3, 83),
        (4, 50),
        (7, 7),
        (8, 0),
        (100, 0),
    ],
)
def test_as_many_are_expected_as_have_come_until_there_are_enough_or_it_takes_too_long(
    waiting: int, more_ms: int
) -> None:
    assert round(PACE.more_seconds(waiting) * 1000) == more_ms


async def test_who_comes_after_the_least_rest_waits_for_nothing_and_neither_does_a_full_turn() -> None:
    slow = Pace(least_seconds=20, most_seconds=60, enough=8)
    loop = asyncio.get_running_loop()
    now = loop.time()
    assert await slow.rest(now - 20, lambda: 1) - now < 10
    assert await slow.rest(now, lambda: 2, most=2) - now < 10

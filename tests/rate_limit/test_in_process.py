"""The limits of people: counted by session and by person, in memory that does not grow."""

import pytest

from malipo.errors import Unavailable
from malipo.rate_limit.concurrency import ConcurrencyLimit
from malipo.rate_limit.in_process import InProcessLimits
from malipo.rate_limit.refusal import RateLimited
from malipo.turns import Turns

NOW = 1_800_000_000_000


def test_one_more_than_the_limit_is_refused_and_told_how_long_to_wait() -> None:
    limits = InProcessLimits()
    for second in range(3):
        limits.admit(("ses_1", 3), now_ms=NOW + second * 1000)
    with pytest.raises(RateLimited) as refused:
        limits.admit(("ses_1", 3), now_ms=NOW + 10_000)
    assert refused.value.retry_after_seconds == 50
    limits.admit(("ses_1", 3), now_ms=NOW + 60_000)


def test_all_sessions_of_a_person_count_together() -> None:
    limits = InProcessLimits()
    for number in range(4):
        limits.admit((f"ses_{number}", 3), ("per_1", 4), now_ms=NOW)
    with pytest.raises(RateLimited):
        limits.admit(("ses_9", 3), ("per_1", 4), now_ms=NOW)
    limits.admit(("ses_9", 3), ("per_2", 4), now_ms=NOW)


def test_a_request_that_is_refused_counts_under_none_of_its_ids() -> None:
    limits = InProcessLimits()
    limits.admit(("per_1", 1), now_ms=NOW)
    for _ in range(5):
        with pytest.raises(RateLimited):
            limits.admit(("ses_1", 1), ("per_1", 1), now_ms=NOW)
    limits.admit(("ses_1", 1), now_ms=NOW)


def test_a_limit_of_0_is_none() -> None:
    limits = InProcessLimits()
    for _ in range(1000):
        limits.admit(("ses_1", 0), now_ms=NOW)
    assert limits.size == 0


def test_who_has_gone_is_forgotten() -> None:
    limits = InProcessLimits()
    for number in range(1000):
        limits.admit((f"ses_{number}", 5), now_ms=NOW + number)
    limits.admit(("ses_new", 5), now_ms=NOW + 61_000)
    assert limits.size == 1


def test_a_clock_that_is_set_back_lets_nobody_through_twice() -> None:
    limits = InProcessLimits()
    limits.admit(("ses_1", 1), now_ms=NOW)
    with pytest.raises(RateLimited):
        limits.admit(("ses_1", 1), now_ms=NOW - 3_600_000)


def test_so_many_are_open_for_one_and_in_all() -> None:
    limit = ConcurrencyLimit(each=2, all_=3)
    with limit.slot("a"), limit.slot("a"):
        assert not limit.has_room("a")
        assert limit.has_room("b")
        with limit.slot("b"):
            assert not limit.has_room("c")
    assert limit.has_room("a")
    assert limit.open == 0


async def test_who_comes_later_waits_for_a_turn_and_not_for_ever() -> None:
    turns = Turns(1)
    async with turns.taken(seconds=1):
        with pytest.raises(Unavailable):
            async with turns.taken(seconds=0.01):
                pytest.fail("two have the only turn")
    async with turns.taken(seconds=1):
        pass

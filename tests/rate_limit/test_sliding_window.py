"""The arithmetic of rate limits, held against a model that remembers every single request."""

from array import array
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from malipo.rate_limit.sliding_window import SPAN_MS, RateLimitStatus, Window

START_MS = 1_763_000_000_000
SLOT_MS = 600  # what a window above 300 a minute may err by, on the strict side

EXACT_LIMITS = st.integers(1, 300)
LARGE_LIMITS = st.integers(301, 2_000)

# Gaps that crowd requests together, spread them over the minute, and hit its edges to the millisecond.
GAPS_MS = st.one_of(
    st.integers(0, 3),
    st.integers(0, SLOT_MS + 50),
    st.integers(0, 20_000),
    st.integers(SPAN_MS - SLOT_MS - 50, SPAN_MS + SLOT_MS + 50),
    st.sampled_from([1_000, SPAN_MS - 1, SPAN_MS, SPAN_MS + 1]),
)


@st.composite
def arrivals(draw: st.DrawFn, limits: st.SearchStrategy[int]) -> tuple[int, list[tuple[int, int]]]:
    """A limit, and who arrives: gaps in milliseconds, and how many come together."""
    limit = draw(limits)
    many = st.one_of(st.integers(1, 5), st.integers(1, max(limit // 2, 1)), st.integers(1, limit + 5))
    return limit, draw(st.lists(st.tuples(GAPS_MS, many), max_size=40))


@dataclass
class WindowHistory:
    """A window, and every request that it admitted."""

    limit: int
    now_ms: int = START_MS
    window: Window = Window()
    admitted: list[tuple[int, int]] = field(default_factory=list)

    def arrive(self, gap_ms: int, asked: int) -> int:
        self.now_ms += gap_ms
        # Between two requests it lies in the database.
        window = Window.unpacked(self.window.packed())
        passed, self.window = window.admit(asked, limit=self.limit, now_ms=self.now_ms)
        if passed:
            self.admitted.append((self.now_ms, passed))
        return passed

    def used(self, *, span_ms: int = SPAN_MS) -> int:
        """How many were let in within the span that ends now."""
        return sum(count for at, count in self.admitted if at > self.now_ms - span_ms)

    @property
    def rate_limit_status(self) -> RateLimitStatus:
        return self.window.rate_limit_status(limit=self.limit, now_ms=self.now_ms)


def test_an_empty_window_lets_the_limit_through_and_no_more() -> None:
    passed, window = Window().admit(5, limit=3, now_ms=START_MS)

    assert passed == 3
    assert window.admit(1, limit=3, now_ms=START_MS) == (0, window)
    assert window.rate_limit_status(limit=3, now_ms=START_MS) == RateLimitStatus(3, 0, 60)


def test_above_300_a_minute_a_hundredth_of_it_counts_from_its_newest_request() -> None:
    history = WindowHistory(400)
    history.arrive(0, 1)
    history.arrive(150, 399)

    assert history.arrive(SPAN_MS - 1, 1) == 0
    assert history.arrive(1, 400) == 400


@settings(max_examples=400)
@given(arrivals(st.one_of(EXACT_LIMITS, LARGE_LIMITS)))
def test_no_span_of_60_seconds_holds_more_than_the_limit(sequence: tuple[int, list[tuple[int, int]]]) -> None:
    limit, requests = sequence
    history = WindowHistory(limit)
    for gap_ms, asked in requests:
        history.arrive(gap_ms, asked)

    for begin, _ in history.admitted:
        assert sum(count for at, count in history.admitted if begin <= at < begin + SPAN_MS) <= limit


@given(arrivals(EXACT_LIMITS))
def test_up_to_300_a_minute_it_lets_in_exactly_as_many_as_there_is_room_for(
    sequence: tuple[int, list[tuple[int, int]]],
) -> None:
    limit, requests = sequence
    history = WindowHistory(limit)
    for gap_ms, asked in requests:
        room = limit - WindowHistory(limit, history.now_ms + gap_ms, admitted=history.admitted).used()

        assert history.arrive(gap_ms, asked) == min(asked, room)
        assert history.rate_limit_status.remaining == limit - history.used()


@given(arrivals(LARGE_LIMITS))
def test_above_300_a_minute_it_is_strict_by_a_hundredth_of_it_at_most(
    sequence: tuple[int, list[tuple[int, int]]],
) -> None:
    limit, requests = sequence
    history = WindowHistory(limit)
    for gap_ms, asked in requests:
        then = WindowHistory(limit, history.now_ms + gap_ms, admitted=list(history.admitted))
        passed = history.arrive(gap_ms, asked)

        assert passed <= min(asked, limit - then.used())
        assert passed >= min(asked, limit - then.used(span_ms=SPAN_MS + SLOT_MS))


@given(arrivals(st.one_of(EXACT_LIMITS, LARGE_LIMITS)))
def test_whoever_waits_as_told_gets_through(sequence: tuple[int, list[tuple[int, int]]]) -> None:
    limit, requests = sequence
    history = WindowHistory(limit)
    for gap_ms, asked in requests:
        if history.arrive(gap_ms, asked) < asked:
            later_ms = history.now_ms + history.rate_limit_status.reset_seconds * 1000

            assert 1 <= history.rate_limit_status.reset_seconds <= 60
            assert history.rate_limit_status.remaining == 0
            assert history.window.admit(1, limit=limit, now_ms=later_ms)[0] == 1


@given(arrivals(EXACT_LIMITS))
def test_nobody_is_told_to_wait_a_second_too_long(sequence: tuple[int, list[tuple[int, int]]]) -> None:
    limit, requests = sequence
    history = WindowHistory(limit)
    for gap_ms, asked in requests:
        if history.arrive(gap_ms, asked) < asked:
            sooner_ms = history.now_ms + (history.rate_limit_status.reset_seconds - 1) * 1000

            assert history.window.admit(1, limit=limit, now_ms=sooner_ms)[0] == 0


@given(arrivals(st.one_of(EXACT_LIMITS, LARGE_LIMITS)))
def test_the_refused_leave_the_window_as_if_they_had_not_come(sequence: tuple[int, list[tuple[int, int]]]) -> None:
    limit, requests = sequence
    history = WindowHistory(limit)
    for gap_ms, asked in requests:
        history.arrive(gap_ms, asked)
        if history.rate_limit_status.remaining == 0:
            assert history.window.admit(1, limit=limit, now_ms=history.now_ms) == (0, history.window)


@given(arrivals(LARGE_LIMITS))
def test_a_window_never_remembers_more_than_300_pairs_and_the_one_under_way(
    sequence: tuple[int, list[tuple[int, int]]],
) -> None:
    limit, requests = sequence
    history = WindowHistory(limit)
    for gap_ms, asked in requests:
        history.arrive(gap_ms, asked)

        assert len(history.window.pairs) <= 301
        assert sum(count for _, count in history.window.pairs) <= limit
        assert all(count for _, count in history.window.pairs)


def test_a_steady_stream_above_300_a_minute_keeps_the_memory_small() -> None:
    history = WindowHistory(10_000)

    for _ in range(20_000):
        history.arrive(7, 1)

    assert len(history.window.pairs) <= 301
    assert history.used() <= 10_000


@given(arrivals(st.one_of(EXACT_LIMITS, LARGE_LIMITS)), st.integers(1, 200))
def test_after_the_limit_was_lowered_waiting_as_told_is_still_enough(
    sequence: tuple[int, list[tuple[int, int]]], lower: int
) -> None:
    limit, requests = sequence
    history = WindowHistory(limit)
    for gap_ms, asked in requests:
        history.arrive(gap_ms, asked)
    history.limit = lower

    if history.arrive(0, 1) == 0:
        later_ms = history.now_ms + history.rate_limit_status.reset_seconds * 1000
        assert history.window.admit(1, limit=lower, now_ms=later_ms)[0] == 1


@given(arrivals(st.one_of(EXACT_LIMITS, LARGE_LIMITS)), st.integers(1, 10 * SPAN_MS))
def test_a_clock_that_is_set_back_makes_no_room(sequence: tuple[int, list[tuple[int, int]]], back_ms: int) -> None:
    limit, requests = sequence
    history = WindowHistory(limit)
    for gap_ms, asked in requests:
        history.arrive(gap_ms, asked)
    last_ms = history.window.pairs[-1][0] if history.window.pairs else history.now_ms

    set_back = history.window.admit(limit, limit=limit, now_ms=last_ms - back_ms)

    if history.window.pairs:
        assert set_back == history.window.admit(limit, limit=limit, now_ms=last_ms)
    else:
        assert set_back[0] == limit


@pytest.mark.parametrize(("days_ms", "total"), [(0, 2**31 - 100), (2**31 - 30_000, 0), (2**32 - 1, 2**32 - 1)])
@given(arrivals(st.one_of(EXACT_LIMITS, LARGE_LIMITS)))
def test_a_window_that_was_never_empty_for_weeks_counts_as_a_new_one_does(
    days_ms: int, total: int, sequence: tuple[int, list[tuple[int, int]]]
) -> None:
    """Its first pair counts for nothing, but is so long after the start, and after so many requests."""
    limit, requests = sequence
    history = WindowHistory(limit)
    history.arrive(0, 1)
    start_ms = START_MS - days_ms
    last = array("I", [days_ms, days_ms]), array("I", [total - 1, total] if total else [0, 1])
    old = WindowHistory(limit, window=Window(start_ms, *last), admitted=list(history.admitted))
    for gap_ms, asked in requests:
        assert old.arrive(gap_ms, asked) == history.arrive(gap_ms, asked)
        assert (old.window.pairs, old.rate_limit_status) == (history.window.pairs, history.rate_limit_status)

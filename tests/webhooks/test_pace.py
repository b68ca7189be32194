"""How much is sent to whom at once: whatever happens in whatever order, no place is lost and none is given twice."""

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from malipo.worker.pace import Pace, Trip

FIRST, LEAST, MOST = 4, 2, 64  # windows, written by hand
ENDPOINTS = st.sampled_from(["a", "b", "c", "d", "e"])


class AnyOrder(RuleBasedStateMachine):
    """Endpoints take places as far as there is room, linger, end and are cancelled, against a simple account of it."""

    trips = Bundle("trips")

    @initialize(fast=st.integers(1, 12), slow=st.integers(1, 12))
    def open(self, fast: int, slow: int) -> None:
        self.pace = Pace(fast=fast, slow=slow)
        self.fast = fast
        self.slow = slow
        self.under_way: dict[int, Trip] = {}
        self.in_fast: set[int] = set()  # trips that have not been moved to the slow lane

    @rule(target=trips, endpoint=ENDPOINTS, share=st.floats(0, 1))
    def leave(self, endpoint: str, share: float) -> list[Trip]:
        room = self.pace.room(endpoint)
        begun = [self.pace.begin(endpoint) for _ in range(round(room * share))]
        for trip in begun:
            self.under_way[id(trip)] = trip
            if not trip.is_slow:
                self.in_fast.add(id(trip))
        return begun

    @rule(trips=trips)
    def linger(self, trips: list[Trip]) -> None:
        for trip in trips:
            if id(trip) in self.under_way:
                self.pace.linger(trip)
                self.in_fast.discard(id(trip))

    @rule(trips=consumes(trips), is_success=st.booleans())
    def end(self, trips: list[Trip], is_success: bool) -> None:
        for trip in trips:
            if self.under_way.pop(id(trip), None) is not None:
                self.pace.end(trip, is_success=is_success)
                self.in_fast.discard(id(trip))

    @rule(trips=consumes(trips))
    def cancel(self, trips: list[Trip]) -> None:
        for trip in trips:
            if self.under_way.pop(id(trip), None) is not None:
                self.pace.cancel(trip)
                self.in_fast.discard(id(trip))

    @invariant()
    def every_trip_is_counted_once(self) -> None:
        assert self.pace.under_way == len(self.under_way)

    @invariant()
    def the_fast_lane_is_never_overfull(self) -> None:
        assert len(self.in_fast) <= self.fast

    @invariant()
    def room_is_what_the_lane_and_the_window_have_left(self) -> None:
        to = Counter(trip.endpoint_id for trip in self.under_way.values())
        free = {self.fast - len(self.in_fast), max(0, self.slow - (len(self.under_way) - len(self.in_fast)))}
        for endpoint in "abcde":
            assert 0 <= self.pace.room(endpoint) <= min(max(free), MOST - to[endpoint])

    def teardown(self) -> None:
        """When everybody is back, all places are free: a stranger finds as much room as on the first day."""
        for trip in self.under_way.values():
            self.pace.end(trip, is_success=True)
        assert self.pace.under_way == 0
        strangers = [f"stranger {number}" for number in range(self.fast)]
        begun = [self.pace.begin(each) for each in strangers if self.pace.room(each)]
        assert len(begun) == self.fast
        assert self.pace.room("one more") == 0
        for trip in begun:
            self.pace.linger(trip)
        assert self.pace.room("one more") == min(FIRST, self.fast), "who lingers gives the place back"


AnyOrder.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
test_in_any_order = AnyOrder.TestCase


def _window(pace: Pace, endpoint: str) -> int:
    """How many may be under way to an endpoint to which nothing is."""
    return pace.room(endpoint)


def _once(pace: Pace, *, is_success: bool, lingers: bool = False) -> int:
    """One trip to the endpoint, and its window after it."""
    trip = pace.begin("a")
    if lingers:
        pace.linger(trip)
    pace.end(trip, is_success=is_success)
    return _window(pace, "a")


def test_a_window_opens_by_one_with_each_success_up_to_its_largest() -> None:
    pace = Pace(fast=1000, slow=1000)
    assert _window(pace, "a") == FIRST

    windows = [_once(pace, is_success=True) for _ in range(100)]

    assert windows == [min(FIRST + number, MOST) for number in range(1, 101)]


def test_a_window_halves_with_each_failure_down_to_its_smallest_and_opens_again() -> None:
    pace = Pace(fast=1000, slow=1000)
    for _ in range(100):
        _once(pace, is_success=True)

    assert [_once(pace, is_success=False) for _ in range(7)] == [32, 16, 8, 4, 2, 2, 2]
    assert _once(pace, is_success=True) == LEAST + 1


def test_whoever_fails_or_lingers_is_on_the_slow_lane_until_it_answers_soon() -> None:
    for is_success, lingers in ((False, False), (True, True), (False, True)):
        pace = Pace(fast=1000, slow=1)
        assert _once(pace, is_success=is_success, lingers=lingers) == 1, "as much as the slow lane has"
        assert _once(pace, is_success=True) > 1


def test_a_full_slow_lane_keeps_nobody_on_the_fast_lane_waiting() -> None:
    pace = Pace(fast=8, slow=2)
    for number in range(5):
        for _ in range(pace.room(f"hangs {number}")):
            pace.linger(pace.begin(f"hangs {number}"))

    assert pace.room("hangs 0") == 0
    assert pace.room("answers") == FIRST


def test_a_full_fast_lane_makes_everybody_wait() -> None:
    pace = Pace(fast=6, slow=100)
    for endpoint in "ab":
        for _ in range(pace.room(endpoint)):
            pace.begin(endpoint)

    assert [pace.room(endpoint) for endpoint in "abc"] == [0, 0, 0]
    assert pace.under_way == 6

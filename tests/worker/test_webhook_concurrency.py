"""How much is sent to whom at once: whatever happens in whatever order, no place is lost and none is given twice."""

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from malipo.worker.webhook_concurrency import Slot, WebhookConcurrency

FIRST, LEAST, MOST = 4, 2, 64  # windows, written by hand
ENDPOINTS = st.sampled_from(["a", "b", "c", "d", "e"])


class AnyOrder(RuleBasedStateMachine):
    """Endpoints take places as far as there is room, linger, end and are cancelled, against a simple account of it."""

    slots = Bundle("trips")

    @initialize(fast=st.integers(1, 12), slow=st.integers(1, 12))
    def open(self, fast: int, slow: int) -> None:
        self.concurrency = WebhookConcurrency(fast=fast, slow=slow)
        self.fast = fast
        self.slow = slow
        self.under_way: dict[int, Slot] = {}
        self.in_fast: set[int] = set()  # trips that have not been moved to the slow lane

    @rule(target=slots, endpoint=ENDPOINTS, share=st.floats(0, 1))
    def leave(self, endpoint: str, share: float) -> list[Slot]:
        room = self.concurrency.room(endpoint)
        begun = [self.concurrency.begin(endpoint) for _ in range(round(room * share))]
        for slot in begun:
            self.under_way[id(slot)] = slot
            if not slot.is_slow:
                self.in_fast.add(id(slot))
        return begun

    @rule(slots=slots)
    def linger(self, slots: list[Slot]) -> None:
        for slot in slots:
            if id(slot) in self.under_way:
                self.concurrency.linger(slot)
                self.in_fast.discard(id(slot))

    @rule(slots=consumes(slots), is_success=st.booleans())
    def end(self, slots: list[Slot], is_success: bool) -> None:
        for slot in slots:
            if self.under_way.pop(id(slot), None) is not None:
                self.concurrency.end(slot, is_success=is_success)
                self.in_fast.discard(id(slot))

    @rule(slots=consumes(slots))
    def cancel(self, slots: list[Slot]) -> None:
        for slot in slots:
            if self.under_way.pop(id(slot), None) is not None:
                self.concurrency.cancel(slot)
                self.in_fast.discard(id(slot))

    @invariant()
    def every_trip_is_counted_once(self) -> None:
        assert self.concurrency.under_way == len(self.under_way)

    @invariant()
    def the_fast_lane_is_never_overfull(self) -> None:
        assert len(self.in_fast) <= self.fast

    @invariant()
    def room_is_what_the_lane_and_the_window_have_left(self) -> None:
        to = Counter(slot.endpoint_id for slot in self.under_way.values())
        free = {self.fast - len(self.in_fast), max(0, self.slow - (len(self.under_way) - len(self.in_fast)))}
        for endpoint in "abcde":
            assert 0 <= self.concurrency.room(endpoint) <= min(max(free), MOST - to[endpoint])

    def teardown(self) -> None:
        """When everybody is back, all places are free: a stranger finds as much room as on the first day."""
        for slot in self.under_way.values():
            self.concurrency.end(slot, is_success=True)
        assert self.concurrency.under_way == 0
        strangers = [f"stranger {number}" for number in range(self.fast)]
        begun = [self.concurrency.begin(each) for each in strangers if self.concurrency.room(each)]
        assert len(begun) == self.fast
        assert self.concurrency.room("one more") == 0
        for slot in begun:
            self.concurrency.linger(slot)
        assert self.concurrency.room("one more") == min(FIRST, self.fast), "who lingers gives the place back"


AnyOrder.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
test_in_any_order = AnyOrder.TestCase


def _window(concurrency: WebhookConcurrency, endpoint: str) -> int:
    """How many may be under way to an endpoint to which nothing is."""
    return concurrency.room(endpoint)


def _once(concurrency: WebhookConcurrency, *, is_success: bool, lingers: bool = False) -> int:
    """One trip to the endpoint, and its window after it."""
    slot = concurrency.begin("a")
    if lingers:
        concurrency.linger(slot)
    concurrency.end(slot, is_success=is_success)
    return _window(concurrency, "a")


def test_a_window_opens_by_one_with_each_success_up_to_its_largest() -> None:
    concurrency = WebhookConcurrency(fast=1000, slow=1000)
    assert _window(concurrency, "a") == FIRST

    windows = [_once(concurrency, is_success=True) for _ in range(100)]

    assert windows == [min(FIRST + number, MOST) for number in range(1, 101)]


def test_a_window_halves_with_each_failure_down_to_its_smallest_and_opens_again() -> None:
    concurrency = WebhookConcurrency(fast=1000, slow=1000)
    for _ in range(100):
        _once(concurrency, is_success=True)

    assert [_once(concurrency, is_success=False) for _ in range(7)] == [32, 16, 8, 4, 2, 2, 2]
    assert _once(concurrency, is_success=True) == LEAST + 1


def test_whoever_fails_or_lingers_is_on_the_slow_lane_until_it_answers_soon() -> None:
    for is_success, lingers in ((False, False), (True, True), (False, True)):
        concurrency = WebhookConcurrency(fast=1000, slow=1)
        assert _once(concurrency, is_success=is_success, lingers=lingers) == 1, "as much as the slow lane has"
        assert _once(concurrency, is_success=True) > 1


def test_a_full_slow_lane_keeps_nobody_on_the_fast_lane_waiting() -> None:
    concurrency = WebhookConcurrency(fast=8, slow=2)
    for number in range(5):
        for _ in range(concurrency.room(f"hangs {number}")):
            concurrency.linger(concurrency.begin(f"hangs {number}"))

    assert concurrency.room("hangs 0") == 0
    assert concurrency.room("answers") == FIRST


def test_a_full_fast_lane_makes_everybody_wait() -> None:
    concurrency = WebhookConcurrency(fast=6, slow=100)
    for endpoint in "ab":
        for _ in range(concurrency.room(endpoint)):
            concurrency.begin(endpoint)

    assert [concurrency.room(endpoint) for endpoint in "abc"] == [0, 0, 0]
    assert concurrency.under_way == 6

"""Shrinking: the smallest list of faults and payments with which a made-up predicate still holds."""

from dataclasses import replace

import pytest

from simulation import plan
from simulation.plan import Fault, Plan
from simulation.shrink import shrink

WHOLE = plan.draw(1, payments=8)


@pytest.mark.parametrize("places", [(0,), (11,), (3, 4), (0, 6, 11), ()])
def test_shrinking_finds_the_smallest_list_of_faults_and_keeps_their_order(places: tuple[int, ...]) -> None:
    faults = tuple(Fault("kill", at) for at in range(12))
    needed = [faults[place] for place in places]
    whole = replace(WHOLE, faults=faults)
    found = shrink(whole, lambda candidate: all(each in candidate.faults for each in needed))
    assert list(found.faults) == needed
    assert found.payments == ()


def test_shrinking_leaves_payments_out_too() -> None:
    needed = [WHOLE.payments[2], WHOLE.payments[5]]
    found = shrink(WHOLE, lambda candidate: all(each in candidate.payments for each in needed))
    assert (found.faults, list(found.payments)) == ((), needed)


def test_shrinking_leaves_payment_links_out_too() -> None:
    whole = next(drawn for seed in range(100) if len((drawn := plan.draw(seed, payments=8)).links) == 3)
    found = shrink(whole, lambda candidate: whole.links[1] in candidate.links)
    assert (found.links, found.faults, found.payments) == ((whole.links[1],), (), ())
    assert found.has_customers, "what a run without its links finds of receipts is found again"


def test_shrinking_never_returns_what_does_not_fail() -> None:
    """Either of two faults is enough, but not none: one is left."""
    faults = tuple(Fault("kill", at) for at in range(9))
    whole = replace(WHOLE, faults=faults)
    tried: list[Plan] = []

    def still_fails(candidate: Plan) -> bool:
        tried.append(candidate)
        return faults[2] in candidate.faults or faults[7] in candidate.faults

    found = shrink(whole, still_fails)
    assert len(found.faults) == 1
    assert still_fails(found)
    assert found in tried


def test_what_always_fails_shrinks_to_nothing_and_what_never_does_stays_whole() -> None:
    whole = plan.draw(4, payments=8)
    assert shrink(whole, lambda candidate: True) == replace(whole, faults=(), payments=(), links=())
    assert shrink(whole, lambda candidate: candidate == whole) == whole

"""The plan of a seed: always the same, and each fault drawn for itself."""

import random
from dataclasses import replace
from itertools import islice

import pytest

from simulation import command, options, plan, progress
from simulation.plan import KINDS, Plan

SEEDS = range(300)


def _draw(seed: int, **how: list[str]) -> Plan:
    return plan.draw(seed, payments=8, kinds=how.get("kinds"))


def test_the_same_seed_draws_the_same_plan() -> None:
    assert [_draw(seed) for seed in SEEDS] == [_draw(seed) for seed in SEEDS]
    assert len({_draw(seed).payments for seed in SEEDS}) == len(SEEDS)


def test_a_plan_does_not_depend_on_what_was_drawn_elsewhere() -> None:
    first = _draw(7)
    random.seed(99)
    random.random()
    assert _draw(7) == first


def test_every_kind_of_fault_is_drawn_by_some_seed() -> None:
    drawn = {fault.kind for seed in range(3000) for fault in _draw(seed).faults}
    assert drawn == set(KINDS)


def test_some_seeds_draw_no_fault_at_all() -> None:
    assert any(not _draw(seed).faults for seed in SEEDS)


@pytest.mark.parametrize("kind", KINDS)
def test_leaving_a_kind_out_changes_no_other_fault_and_no_payment(kind: str) -> None:
    others = [each for each in KINDS if each != kind]
    drawn = (_draw(seed) for seed in range(3000))
    with_it = list(islice((each for each in drawn if any(fault.kind == kind for fault in each.faults)), 5))
    assert len(with_it) == 5
    for whole in with_it:
        left = tuple(fault for fault in whole.faults if fault.kind != kind)
        assert _draw(whole.seed, kinds=others) == replace(whole, faults=left)


def test_leaving_one_fault_out_changes_no_other() -> None:
    whole = next(drawn for seed in SEEDS if len((drawn := _draw(seed)).faults) > 8)
    for number, fault in enumerate(whole.faults, 1):
        kept = [str(each) for each in range(1, len(whole.faults) + 1) if each != number]
        given = options.parse(["--seed", str(whole.seed), "--only", ",".join(kept)])
        assert options.plan_of(whole.seed, given) == whole.without([fault])
        assert [each for each in whole.faults if each != fault] == list(whole.without([fault]).faults)


def test_no_fault_stands_twice_in_a_plan() -> None:
    for seed in range(2000):
        faults = _draw(seed).faults
        assert len(set(faults)) == len(faults)


def test_faults_are_where_somebody_is() -> None:
    for seed in range(2000):
        drawn = _draw(seed)
        there = {"", "0", "1", "api1", "api2", *drawn.gateways, *(f"worker{n}" for n in range(1, drawn.workers + 1))}
        assert {fault.target for fault in drawn.faults} <= there


def test_a_run_has_one_restore_at_most() -> None:
    counts = {sum(fault.kind == "restore" for fault in _draw(seed).faults) for seed in range(2000)}
    assert counts == {0, 1}


def test_every_payment_has_a_phone_of_its_own() -> None:
    """The oracle tells payments apart by them."""
    for seed in SEEDS:
        wanted = plan.draw(seed, payments=50).payments
        assert len({payment.phone for payment in wanted}) == 50


def test_the_command_that_shows_a_run_again_draws_the_same_plan() -> None:
    whole = next(drawn for seed in SEEDS if len((drawn := _draw(seed)).faults) > 8)
    smaller = replace(whole, faults=whole.faults[2:5], payments=(whole.payments[3], whole.payments[6]))
    nothing = replace(whole, faults=(), payments=whole.payments[:1])
    linked = next(drawn for seed in SEEDS if len((drawn := _draw(seed)).links) > 1)
    for wanted in (whole, smaller, nothing, linked, replace(linked, links=linked.links[1:]), replace(linked, links=())):
        given = options.parse(["--seed", str(wanted.seed)])
        words = options.command_for(wanted, given).split()
        assert words[:2] == ["./run", "simulate"]
        again = options.parse(words[2:])
        assert options.plan_of(again.first, again) == wanted


def test_without_links_a_seed_has_the_payments_and_faults_that_it_has_with_them() -> None:
    of_customers = {kind for kind in KINDS if kind.startswith("customer-")}
    for seed in SEEDS:
        whole, without = _draw(seed), plan.draw(seed, payments=8, has_links=False)
        faults = tuple(fault for fault in whole.faults if fault.kind not in of_customers)
        assert without == replace(whole, faults=faults, links=(), has_customers=False)
        given = options.parse(["--seed", str(seed), "--without-links"])
        assert options.plan_of(seed, given) == without
        assert "--without-links" in options.command_for(without, given)


def test_seeds_that_are_named_are_run_in_their_order_and_no_others() -> None:
    given = options.parse(["--seeds", "5,3,5"])
    so_far = progress.begin(None, given.first, options.kept_with_progress(given), is_first_given=False)
    assert [each.seed for each in command._plans(given, so_far)] == [5, 3, 5]


@pytest.mark.parametrize("words", [["--seeds", ""], ["--seeds", "a"], ["--seeds", "1", "--seed", "2"]])
def test_seeds_are_a_list_of_numbers_and_the_only_ones(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        options.parse(words)

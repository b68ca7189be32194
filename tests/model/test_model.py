"""Whole lives of payments over networks that lose, delay, repeat and take back their words. A seed says which.

More of them: `.venv/bin/python -m tests.model --seeds 100000 --from 0`.
"""

import pytest

from malipo.networks.connector import Type
from malipo.payments.transaction import Status
from tests.model.__main__ import report
from tests.model.oracle import judge
from tests.model.regressions import REGRESSIONS
from tests.model.run import live
from tests.model.safeguard_table import SAFEGUARDS, Safeguard
from tests.model.safeguards import failing
from tests.model.scenario import Fault, Kind, Nature, Scenario, draw
from tests.model.shrink import shrink

LIVES, PARTS = 6_000, 3


@pytest.mark.parametrize("part", range(PARTS))
def test_no_life_breaks_a_rule(part: int) -> None:
    for seed in range(part * LIVES // PARTS, (part + 1) * LIVES // PARTS):
        if judge(live(draw(seed))):
            pytest.fail(report(seed))


@pytest.mark.parametrize("scenario", REGRESSIONS.values(), ids=REGRESSIONS)
def test_what_was_mended_stays_mended(scenario: Scenario) -> None:
    assert judge(live(scenario)) == []


@pytest.mark.parametrize("safeguard", SAFEGUARDS, ids=lambda each: each.name)
def test_without_any_one_safeguard_a_life_goes_wrong(safeguard: Safeguard) -> None:
    assert next(failing(safeguard, range(20_000)), None) is not None


@pytest.mark.parametrize("type_", Type)
def test_without_faults_a_payment_completes(type_: Type) -> None:
    assert live(Scenario(Nature(type=type_))).status is Status.COMPLETED


def test_a_seed_always_lives_the_same_life() -> None:
    for seed in range(200):
        assert str(live(draw(seed))) == str(live(draw(seed)))


def test_the_lives_reach_every_end() -> None:
    traces = [live(draw(seed)) for seed in range(1000)]
    assert {each.status for each in traces} == {*Status} - {Status.PENDING}
    assert any(each.is_case_open for each in traces)
    assert any(each.is_shown for each in traces)


def test_every_fault_is_drawn() -> None:
    assert {fault.kind for seed in range(2000) for fault in draw(seed).faults} == {*Kind}


def test_a_failing_script_is_made_small() -> None:
    lost, down = Fault(Kind.REPLY_LOST), Fault(Kind.QUERY_DOWN, seconds=100)
    scenario = Scenario(Nature(type=Type.DISBURSEMENT, fee=30), (down, lost, Fault(Kind.CALLBACK_LOST)))
    assert shrink(scenario, lambda each: lost in each.faults) == Scenario(Nature(), (lost,))

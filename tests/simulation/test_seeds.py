"""The simulation itself: seeds that are always run, and that a seed is one history.

`./test` runs no new seeds: what they find has nothing to do with the change that is tested. `./test --slow` does.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from malipo.networks.connector import Channel
from simulation import plan
from simulation.plan import KINDS

ROOT = Path(__file__).parents[2]
# The first three notice most of the safeguards that are taken out (docs/simulation.md); the others draw what these do not.
SEEDS = (1, 2, 3, 1762, 7286, 10090, 6563)


def simulate(*arguments: str, jobs: int = 1) -> str:
    """What it says. If anything is found, the failure shows the seed, its story, and how to see it again."""
    command = [sys.executable, "-m", "simulation", "--jobs", str(jobs), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = f"{done.stdout}\n{done.stderr}"
    assert done.returncode == 0, said
    assert "Nothing was found." in done.stdout, said
    return said


def test_the_seeds_hold_every_kind_of_fault() -> None:
    """If one is new, or seeds draw something else: take seeds that draw it at a low count, or it does not happen."""
    drawn = [plan.draw(seed, payments=8) for seed in SEEDS]
    assert {fault.kind for each in drawn for fault in each.faults} == set(KINDS)
    assert {channel for each in drawn for channel in each.channels} == set(Channel)
    assert {each.workers for each in drawn} == {1, 2}


@pytest.mark.timeout(900)
def test_nothing_is_found_under_seeds_that_hold_every_kind_of_fault_and_one_run_again_is_one_history() -> None:
    runs = [*SEEDS, SEEDS[0]]
    said = simulate("--seeds", ",".join(map(str, runs)))
    assert f"{len(runs)} seeds (" in said


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_seeds_are_one_history_each() -> None:
    said = simulate("--seed", "2", "--runs", "6", "--twice", jobs=2)
    assert "12 seeds (" in said


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_seed_is_one_history_also_in_another_process() -> None:
    """There, addresses differ: nothing may be ordered by them."""
    said = [simulate("--seed", "60180", "--payments", "40") for _ in range(2)]
    histories = [re.findall(r"history (\w+)", each) for each in said]
    assert histories[0] == histories[1] != []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_crowded_seeds_side_by_side_are_one_history_each() -> None:
    simulate("--seed", "50110", "--runs", "8", "--payments", "40", "--twice", jobs=3)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_hundred_seeds_are_one_history_each() -> None:
    simulate("--seed", "1000", "--runs", "200", "--twice", jobs=2)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_nothing_is_found_in_ten_minutes_of_new_seeds_with_more_payments() -> None:
    simulate("--seconds", "600", "--payments", "20", jobs=2)

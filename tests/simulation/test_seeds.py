"""The simulation itself: seeds that are always run, twenty seconds of new ones, and that a seed is one history.

All in one file, so that they do not run side by side on a machine with few cores.
"""

import re
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from simulation import plan
from simulation.plan import KINDS

ROOT = Path(__file__).parents[2]
SEEDS = 12


def simulate(*arguments: str, jobs: int = 1) -> str:
    """What it says. If anything is found, the failure shows the seed, its story, and how to see it again."""
    command = [sys.executable, "-m", "simulation", "--jobs", str(jobs), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = f"{done.stdout}\n{done.stderr}"
    assert done.returncode == 0, said
    assert "Nothing was found." in done.stdout, said
    return said


def first_of_all_kinds() -> int:
    """The first of so many seeds in a row that hold every kind of fault between them."""
    kinds: list[set[str]] = []
    for seed in count():
        kinds.append({fault.kind for fault in plan.draw(seed, payments=8).faults})
        if set().union(*kinds[-SEEDS:]) == set(KINDS):
            return seed - SEEDS + 1
    raise AssertionError


@pytest.mark.timeout(900)
def test_nothing_is_found_under_seeds_that_hold_every_kind_of_fault() -> None:
    said = simulate("--seed", str(first_of_all_kinds()), "--runs", str(SEEDS))
    assert f"{SEEDS} seeds (" in said


@pytest.mark.timeout(900)
def test_nothing_is_found_in_twenty_seconds_of_new_seeds() -> None:
    said = simulate("--seconds", "20")
    assert " 0 seeds (" not in said


@pytest.mark.timeout(900)
def test_a_seed_is_one_history() -> None:
    said = simulate("--seed", "1", "--runs", "1", "--twice")
    assert "2 seeds (" in said


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

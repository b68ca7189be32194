"""What `scripts/flaky` counts: the runs of one commit that have ended, over several sittings, and what failed in each."""

import argparse
import json
from dataclasses import asdict, replace

import pytest

from tests import flaky, order

NAME = "tests/test_ids.py::test_two[far apart]"
PRINTED = f"""
  1 of 3 (33%) after 15 s
FAILED {NAME}
ERROR of something
FAILED {NAME}
=== FAILURES ===
17,135 tests run in 20 min 3 s; 9 were left out (slow, or not chosen)
=========================== short test summary info ============================
FAILED {NAME} - assert 1 == 2
"""
GREEN = flaky.Run(commit="a", seed=1, load=6, seconds=600, tests=17_135, failed=[], exit_code=0, options=[])
RED = replace(GREEN, seed=2, failed=[NAME], exit_code=1)
KILLED = replace(GREEN, seed=3, tests=0, exit_code=-9)


def test_a_run_that_failed_is_known_by_its_tests() -> None:
    assert flaky.outcome(PRINTED) == (17_135, [NAME])


def test_only_runs_of_the_same_commit_and_tests_count() -> None:
    runs = [GREEN, replace(RED, commit="b"), RED, replace(RED, options=["tests/api"])]
    assert flaky.of_commit([json.dumps(asdict(each)) for each in runs], "a", []) == [GREEN, RED]


def test_a_failure_is_named_with_every_seed_that_shows_it() -> None:
    in_words = "\n".join(flaky.summary([GREEN, RED, replace(RED, seed=7), KILLED]))
    assert "3 of 4 runs were red; 4 were whole." in in_words
    assert f"2 × {NAME} (--order 2, 7)" in in_words
    assert "--order 3 --part 1/1: exit code -9, no test named" in in_words


def test_a_run_in_parts_goes_on_where_it_was_stopped() -> None:
    halves = [replace(GREEN, part=1, parts=2), replace(GREEN, part=2, parts=2), replace(RED, part=1, parts=2)]
    asked = argparse.Namespace(runs=3, seeds=[], part=None, parts=2)
    left = flaky.to_do(halves, asked)
    assert left[0] == (RED.seed, 2)
    assert [part for _, part in left[1:]] == [1, 2], "of a third run"
    assert flaky.to_do(halves, argparse.Namespace(**vars(asked) | {"seeds": [1, 7], "part": 2})) == [(7, 2)]
    assert next(flaky.summary(halves)) == "1 of 2 runs were red; 1 were whole."


def test_the_parts_of_a_seed_are_a_whole_run(request: pytest.FixtureRequest) -> None:
    files = [list(each) for each in order.files_of(request.session.items)]
    items = [item for file in files for item in file]
    parts = [order.part_of(items, part, 3) for part in (1, 2, 3)]
    assert sorted(item.nodeid for part in parts for item in part) == sorted(item.nodeid for item in items)
    assert {frozenset(each.path for each in part) for part in parts if part} == {
        frozenset(item.path for file in files[place::3] for item in file) for place in range(min(3, len(files)))
    }

"""What `scripts/flaky` counts: the runs of one commit that have ended, over several sittings, and what failed in each."""

import json
from dataclasses import asdict, replace

from tests import flaky

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
    told = "\n".join(flaky.summary([GREEN, RED, replace(RED, seed=7), KILLED]))
    assert "3 of 4 runs were red" in told
    assert f"2 × {NAME} (--order 2, 7)" in told
    assert "--order 3: exit code -9, no test named" in told

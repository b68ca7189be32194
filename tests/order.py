"""In which order tests run: the files that take longest first, because what begins last should be short.

`--order SEED` is for `scripts/flaky`: files, and the tests of a file, in an order that the seed draws. `--part 2/5` runs
a fifth of the files, which the seed draws too: the parts of a seed are a whole run.
"""

import gc
import random
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
from _pytest.unraisableexception import collect_unraisable

_TESTS = Path(__file__).parent
LONGEST = (
    "browser/test_pages.py",  # and all of its folder
    "simulation/test_seeds.py",
    "api/test_openapi.py",
    "approvals/test_grid_of_doors.py",
    "journeys/test_truth.py",
    "dashboard/operator/test_operator_hostile_files.py",
    "dashboard/merchant/batches/test_hostile_uploads.py",
    "approvals/test_grid_of_operators.py",
    "cli/test_reload.py",
    "journeys/restore/test_restore_collections.py",
    "journeys/restore/test_restore_hosts.py",
    "payments/batches/spreadsheet/test_hostile_files.py",
    "journeys/outages/test_commit_cut.py",
    "cli/test_child_processes.py",
    "journeys/worker/test_worker_kill.py",
    "journeys/outages/test_restart_under_load.py",
    "journeys/outages/test_kill.py",
    "cli/test_database_at_start.py",
    "cli/test_demo.py",
    "journeys/outages/test_stop_and_start.py",
)
# Folders whose files run one after another in one process, because what they share is dear: a demo and a browser.
TOGETHER = ("browser",)
_PLACES = {_TESTS / each: place for place, each in enumerate(LONGEST)}
assert all(each.exists() for each in _PLACES), "a file was renamed"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--order", type=int, metavar="SEED", help="run the tests in an order that this seed draws")
    parser.addoption("--part", default="1/1", metavar="K/N", help="of this order, run the Kth of N parts")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--order") is not None:
        config.pluginmanager.register(_Leaks())


class _Leaks:
    """What a file of tests has left open fails its last test, and not one of another file at which Python notices it."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        result = yield
        if nextitem is None or nextitem.path != item.path:
            gc.collect()
            collect_unraisable(item.config)
        return result


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed: int | None = config.getoption("--order")
    if seed is None:
        items.sort(key=lambda each: _PLACES.get(each.path, len(_PLACES)))
    else:
        chosen = part_of(shuffled(items, random.Random(seed)), *map(int, config.getoption("--part").split("/")))
        config.hook.pytest_deselected(items=list(set(items).difference(chosen)))
        items[:] = chosen


def files_of(items: list[pytest.Item]) -> list[list[pytest.Item]]:
    """What is set up once for the tests of a file, or of a folder, is set up once: they stay together."""
    found: dict[Path, list[pytest.Item]] = {}
    for item in items:
        folder = next((_TESTS / each for each in TOGETHER if item.path.is_relative_to(_TESTS / each)), None)
        found.setdefault(folder or item.path, []).append(item)
    return list(found.values())


def shuffled(items: list[pytest.Item], chance: random.Random) -> list[pytest.Item]:
    """What a file sets up once is set up once: its tests stay together."""
    files = [list(tests) for _, tests in groupby(items, key=lambda each: each.path)]
    chance.shuffle(files)
    for tests in files:
        chance.shuffle(tests)
    return [each for tests in files for each in tests]


def part_of(items: list[pytest.Item], part: int, parts: int) -> list[pytest.Item]:
    """Whole files, and whole folders where these stay together."""
    return [item for file in files_of(items)[part - 1 :: parts] for item in file]

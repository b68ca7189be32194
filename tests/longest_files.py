"""The files that take longest begin first: side by side, what begins last should be short."""

from pathlib import Path

import pytest

_TESTS = Path(__file__).parent
LONGEST = (
    "simulation/test_seeds.py",
    "api/test_openapi.py",
    "approvals/test_grid_of_doors.py",
    "dashboard/operator/test_operator_hostile_files.py",
    "browser/test_pages.py",
    "browser/test_dashboard.py",
    "journeys/test_truth.py",
    "browser/test_docs.py",
    "cli/test_child_processes.py",
    "journeys/worker/test_worker_kill.py",
    "journeys/outages/test_kill.py",
    "cli/test_database_at_start.py",
    "cli/test_demo.py",
    "journeys/outages/test_stop_and_start.py",
)
_PLACES = {_TESTS / each: place for place, each in enumerate(LONGEST)}
assert all(each.exists() for each in _PLACES), "a file was renamed"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda each: _PLACES.get(each.path, len(_PLACES)))

"""Files that run side by side are reported as if they ran one after another, also when one of them ends its process."""

import os
import subprocess
import sys
from pathlib import Path

from tests.fork_server import ROOT

FILES = {
    "test_one.py": """
import pytest

@pytest.fixture(scope="module")
def shared():
    yield []

def test_that_it_is_set_up(shared, tmp_path):
    shared.append(1)
    print("said by one")

def test_that_it_is_set_up_once(shared):
    assert shared == [1]
""",
    "test_two.py": """
import logging

def test_that_fails(tmp_path):
    print("said by two")
    assert {"a": 1} == {"a": 2}

def test_after_it():
    logging.getLogger().warning("after it")
""",
    "test_three.py": """
import os
import signal

def test_before_the_end():
    pass

def test_that_ends_its_process():
    os.kill(os.getpid(), signal.SIGKILL)

def test_that_is_not_run():
    pass
""",
}


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    for name, content in FILES.items():
        (folder / name).write_text(content)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.side_by_side", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_test_is_reported_once_and_a_process_that_died_is_a_failure(tmp_path: Path) -> None:
    done = _run(tmp_path, "-rA", "--at-once", "2", ".")
    assert (done.returncode, done.stderr) == (1, "")
    assert "2 failed, 4 passed" in done.stdout
    assert "PASSED test_one.py::test_that_it_is_set_up_once" in done.stdout
    assert "{'a': 1} == {'a': 2}" in done.stdout
    assert [done.stdout.count(f"\nsaid by {each}") for each in ("one", "two")] == [1, 1]
    assert "The process that ran test_three.py::test_that_ends_its_process died" in done.stdout
    assert "test_that_is_not_run" not in done.stdout


def test_after_enough_failures_no_further_file_is_run(tmp_path: Path) -> None:
    done = _run(tmp_path, "-rA", "--at-once", "1", "--maxfail", "1", "test_two.py", "test_one.py")
    assert done.returncode == 1
    assert "stopping after 1 failures" in done.stdout
    assert "test_one.py" not in done.stdout

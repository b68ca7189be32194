"""Children of the fork server are like those that Python starts: arguments, output, exit code."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from tests import fork_server

ENVIRONMENT = {"PATH": os.environ["PATH"], "MALIPO_DATABASE_URL": "nonsense", "COLUMNS": "100"}
# LC_CTYPE is Python's own, for the children of its children.
_LOOK = "import os; os.environ.pop('LC_CTYPE', 0); print(os.getcwd(), sorted(os.environ), flush=True); os._exit(7)"


def _said(*command: str, cwd: Path) -> tuple[int, bytes, bytes]:
    with TemporaryFile() as out, TemporaryFile() as err:
        code = fork_server.run_module(*command, env=ENVIRONMENT, cwd=cwd, stdout=out, stderr=err).wait(240)
        return code, os.pread(out.fileno(), 2**20, 0), os.pread(err.fileno(), 2**20, 0)


@pytest.mark.parametrize(
    "command",
    [
        ("malipo", "--help"),
        ("malipo", "frobnicate"),
        ("malipo", "api"),  # refused for what is in its environment
        ("malipo_simulator", "--port", "many"),
        ("timeit", "-n", "1", "-r", "1", "-s", _LOOK),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_it_says_and_returns_what_a_whole_one_does(tmp_path: Path, command: tuple[str, ...]) -> None:
    whole = subprocess.run([sys.executable, "-m", *command], env=ENVIRONMENT, cwd=tmp_path, capture_output=True)
    assert whole.returncode == 0 or whole.stdout or whole.stderr
    assert _said(*command, cwd=tmp_path) == (whole.returncode, whole.stdout, whole.stderr)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_whoever_waits_for_one_is_told_by_what_signal_it_died(name: str) -> None:
    words = ("timeit", "-n", "1", "-s", "import time; time.sleep(60)")
    child = fork_server.run_module(*words, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert child.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.01)
    child.send_signal(signal.Signals[name])
    assert child.wait(240) == child.poll() == child.returncode == -signal.Signals[name]
    child.kill()  # Nobody is hit: it is known to be gone.

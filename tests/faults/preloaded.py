"""A process of a slot: it has imported everything but malipo, and forks a child for each run of pytest.

It reads the arguments of a run from a line, and answers with the exit code.
"""

import json
import os
import subprocess
import sys
import time

import pytest

_MOST_SECONDS = 1800
_FIND = """
import sys, tests.conftest, tests.faults.recorder
print(" ".join(each for each in sys.modules if not each.startswith(("malipo", "tests", "__main__"))))
"""


def import_all_but_malipo() -> None:
    found = subprocess.run([sys.executable, "-c", _FIND], check=True, capture_output=True, text=True)
    for each in found.stdout.split():
        try:
            __import__(each)
        except Exception:  # noqa: S112 - a child imports it, if it is needed
            continue
    assert not [each for each in sys.modules if each.startswith(("malipo", "tests.conftest"))]


def main() -> None:
    import_all_but_malipo()
    for line in sys.stdin:
        print(_run(json.loads(line)), flush=True)


def _run(arguments: list[str]) -> int:
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.dup2(2, 1)
        code = 3
        try:
            code = int(pytest.main(arguments))
        finally:
            os._exit(code)
    return _wait(pid)


def _wait(pid: int) -> int:
    deadline = time.monotonic() + _MOST_SECONDS
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(pid, 9)
    os.waitpid(pid, 0)
    return -1


if __name__ == "__main__":
    main()

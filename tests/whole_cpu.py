"""`python -m tests.whole_cpu COMMAND …`: the processor time of a command and of all that it starts, servers too.

A server whose starter has ended is nobody's child, so its time is not counted where others are. On Linux it becomes a
child of this process, which waits for each.
"""

import ctypes
import os
import resource
import subprocess
import sys
import time

_ADOPTS_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER
_END_SECONDS = 240.0  # for servers that stop after the command, on a busy machine too


def main(command: list[str]) -> int:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_ADOPTS_ORPHANS, 1, 0, 0, 0)
    began = time.monotonic()
    process = subprocess.Popen(command)
    code = process.returncode = _wait_for(process.pid)
    took = time.monotonic() - began
    _wait_for_the_rest()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{took:.0f} s; {used.ru_utime + used.ru_stime:.0f} s of a processor, with all processes that were started")
    return code


def _wait_for(child: int) -> int:
    """Its exit code. Orphans that end before it are noted too, or tests would take them to be running."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def _wait_for_the_rest() -> None:
    deadline = time.monotonic() + _END_SECONDS
    while time.monotonic() < deadline:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The backends of PostgreSQL as the kernel sees them: their core, whether they are stopped, whether they have ended."""

import os
import time
from contextlib import suppress
from pathlib import Path

MOST_REAL_SECONDS = 30  # for one exchange, before the run is called stuck


class BackendStuck(Exception):  # noqa: N818
    """The server does not answer, or a backend does not end."""


def share_core(pid: int | None) -> None:
    """Only one of run and backend works at a time. On one core they need not wake each other across cores."""
    if pid is not None:
        with suppress(OSError):
            os.sched_setaffinity(pid, os.sched_getaffinity(0))


def is_there(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


def wait_until_stopped(pid: int | None) -> None:
    """On a busy machine it may go on for a while."""
    ends_at = time.monotonic() + MOST_REAL_SECONDS
    while state_of(pid) != "T":
        if time.monotonic() > ends_at:
            raise BackendStuck(f"the backend {pid} does not stop")
        time.sleep(0.0002)


def state_of(pid: int | None) -> str:
    """One letter, as the kernel has it: T is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


def wait_until_gone(pid: int) -> None:
    ends_at = time.monotonic() + MOST_REAL_SECONDS
    while is_there(pid):
        if time.monotonic() > ends_at:
            raise BackendStuck(f"the backend {pid} does not end")
        time.sleep(0.0002)

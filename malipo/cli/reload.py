"""malipo reload: replaces the children of a `malipo serve`, and returns when that is done or has failed."""

import argparse
import asyncio
import os
import signal
from typing import Any

from malipo.cli import reload_outcome
from malipo.errors import Impossible
from malipo.settings import Settings

_LOOK_SECONDS = 0.1


def add_commands(commands: Any) -> None:
    reload = commands.add_parser("reload", help="replace the processes of a malipo serve, and wait until it is done")
    reload.add_argument("pid", type=int, help="the process id of malipo serve; in a unit $MAINPID")
    reload.add_argument("--seconds", type=float, default=80, help="how long to wait for its end (default: 80)")
    reload.set_defaults(command=_reload)


def _reload(arguments: argparse.Namespace, settings: Settings) -> int:
    """The process that is not there, or is none of ours, gets no signal: SIGHUP would end it."""
    pid: int = arguments.pid
    before = reload_outcome.read(settings.data_dir, pid)
    if before is None:
        raise Impossible(
            f"No malipo serve with the process id {pid} runs with the data folder {settings.data_dir.absolute()} "
            "(MALIPO_DATA_DIR). One of a version before 0.3.0 must be restarted."
        )
    try:
        os.kill(pid, signal.SIGHUP)
    except OSError as error:
        raise Impossible(f"The process {pid} cannot be reloaded: {error.strerror}.") from error
    try:
        ended = asyncio.run(_wait(settings, pid, before.begun + 1, seconds=arguments.seconds))
    except TimeoutError:
        raise Impossible(
            f"The reload has not ended in {arguments.seconds:.0f} s; the log will say how it ends."
        ) from None
    if ended.error is not None:
        raise Impossible(f"Not reloaded: {ended.error}")
    print("Reloaded.")
    return 0


async def _wait(settings: Settings, pid: int, number: int, *, seconds: float) -> reload_outcome.Reloads:
    async with asyncio.timeout(seconds):
        while True:
            found = reload_outcome.read(settings.data_dir, pid)
            if found is None:
                raise Impossible(f"The process {pid} has ended.")
            if found.ended >= number:
                return found
            await asyncio.sleep(_LOOK_SECONDS)

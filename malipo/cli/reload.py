"""malipo reload: replaces the children of a `malipo serve`, and returns when that is done or has failed."""

import argparse
import asyncio
import os
import signal
from pathlib import Path
from typing import Any

from malipo.cli import reload_outcome
from malipo.cli.command_table import add_command
from malipo.errors import Impossible
from malipo.settings import Settings
from malipo.settings.environment import variable

_LOOK_SECONDS = 0.1


def add_commands(commands: Any) -> None:
    reload = add_command(commands, "reload")
    reload.add_argument("pid", type=int, help="the process id of malipo serve; in a unit $MAINPID")
    reload.add_argument("--seconds", type=float, default=80, help="how long to wait for its end (default: 80)")
    reload.set_defaults(command=_reload)


def _reload(arguments: argparse.Namespace, settings: Settings) -> int:
    """The process that is not there, or is none of ours, gets no signal: SIGHUP would end it."""
    pid: int = arguments.pid
    folder = data_dir_of(pid) or settings.data_dir
    before = reload_outcome.read(folder, pid)
    if before is None:
        raise Impossible(
            f"No malipo serve with the process id {pid} runs with the data folder {folder.absolute()} "
            f"({variable('data_dir')}), or you may not read that folder: run this as the user of the service. One of a "
            "version before 0.3.0 must be restarted."
        )
    try:
        os.kill(pid, signal.SIGHUP)
    except OSError as error:
        raise Impossible(f"The process {pid} cannot be reloaded: {error.strerror}.") from error
    try:
        ended = asyncio.run(_wait(folder, pid, before.begun + 1, seconds=arguments.seconds))
    except TimeoutError:
        raise Impossible(
            f"The reload has not ended in {arguments.seconds:.0f} s; the log will say how it ends."
        ) from None
    if ended.error is not None:
        raise Impossible(f"Not reloaded: {ended.error}")
    print("Reloaded.")
    return 0


def data_dir_of(pid: int) -> Path | None:
    """The data folder of a running process, which a unit names and its environment file does not. None if the system
    does not tell: of a process that is not there, or of another user."""
    process = Path("/proc", str(pid))
    try:
        lines = (process / "environ").read_bytes().split(b"\0")
        folder = (process / "cwd").readlink()
    except OSError:
        return None
    named = f"{variable('data_dir')}=".encode()
    found = [os.fsdecode(line.removeprefix(named)) for line in lines if line.startswith(named)]
    return folder / (found[0] if found and found[0] else Settings().data_dir)


async def _wait(folder: Path, pid: int, number: int, *, seconds: float) -> reload_outcome.Reloads:
    async with asyncio.timeout(seconds):
        while True:
            found = reload_outcome.read(folder, pid)
            if found is None:
                raise Impossible(f"The process {pid} has ended.")
            if found.ended >= number:
                return found
            await asyncio.sleep(_LOOK_SECONDS)

"""malipo reload: replaces the children of a `malipo serve`, and returns when that is done or has failed."""

import argparse
import asyncio
import contextlib
import fcntl
import os
import signal
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from malipo import log
from malipo.cli.command_table import add_command
from malipo.errors import Impossible
from malipo.settings import Settings
from malipo.settings.environment import variable


class Reloads(msgspec.Struct, frozen=True):
    begun: int = 0
    ended: int = 0
    error: str | None = None  # of the last that has ended


def _path(data_dir: Path, pid: int) -> Path:
    return data_dir / f"reload-{pid}.json"


class ReloadFile:
    """How the reloads of this `malipo serve` ended: a small file in its data folder, which `malipo reload` reads.

    The process that writes it keeps it locked until it closes it. So a file that a killed process left is recognized.
    """

    def __init__(self, data_dir: Path) -> None:
        """Without a folder to write to, SIGHUP still reloads, and `malipo reload` cannot."""
        self._path = _path(data_dir, os.getpid())
        self._file: int | None = None
        try:
            data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as error:
            log.warning("serve.reloads_not_told", message=f"{self._path} cannot be written: {error.strerror}.")
        self._write(Reloads())

    def begin(self) -> None:
        self._write(replace(self._last, begun=self._last.begun + 1))

    def end(self, error: str | None) -> None:
        self._write(replace(self._last, ended=self._last.begun, error=error))

    def close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
            os.close(self._file)

    def _write(self, reloads: Reloads) -> None:
        self._last = reloads
        if self._file is None:
            return
        content = msgspec.json.encode(reloads) + b"\n"
        os.pwrite(self._file, content, 0)
        os.ftruncate(self._file, len(content))


def read(data_dir: Path, pid: int) -> Reloads | None:
    """None if no such process runs with this data folder."""
    try:
        file = os.open(_path(data_dir, pid), os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _decode(os.pread(file, 10_000, 0))
    finally:
        os.close(file)
    return None


def _decode(content: bytes) -> Reloads:
    """It may be read in the middle of a write: then nothing has ended yet."""
    try:
        return msgspec.json.decode(content.partition(b"\n")[0], type=Reloads)
    except msgspec.MsgspecError:
        return Reloads()


_LOOK_SECONDS = 0.1


def add_commands(commands: Any) -> None:
    reload = add_command(commands, "reload")
    reload.add_argument("pid", type=int, help="the process id of malipo serve; in a unit $MAINPID")
    reload.add_argument("--seconds", type=float, default=80, help="how long to wait, in seconds (default: 80)")
    reload.set_defaults(command=_reload)


def _reload(arguments: argparse.Namespace, settings: Settings) -> int:
    """The process that is not there, or is none of ours, gets no signal: SIGHUP would end it."""
    pid: int = arguments.pid
    folder = data_dir_of(pid) or settings.data_dir
    before = read(folder, pid)
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
    does not say: of a process that is not there, or of another user."""
    process = Path("/proc", str(pid))
    try:
        lines = (process / "environ").read_bytes().split(b"\0")
        folder = (process / "cwd").readlink()
    except OSError:
        return None
    named = f"{variable('data_dir')}=".encode()
    found = [os.fsdecode(line.removeprefix(named)) for line in lines if line.startswith(named)]
    return folder / (found[0] if found and found[0] else Settings().data_dir)


async def _wait(folder: Path, pid: int, number: int, *, seconds: float) -> Reloads:
    async with asyncio.timeout(seconds):
        while True:
            found = read(folder, pid)
            if found is None:
                raise Impossible(f"The process {pid} has ended.")
            if found.ended >= number:
                return found
            await asyncio.sleep(_LOOK_SECONDS)

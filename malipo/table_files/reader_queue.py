"""The turns for reading files from outside: one at a time for a merchant, two on a host; others wait a while.

The turns are locks on files in the data folder, so that all processes of a host share them, and a process that dies
leaves none behind. Waiting happens on the event loop and holds no thread.
"""

import asyncio
import fcntl
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from pathlib import Path
from typing import TypeVar

from malipo.errors import TooMany, Unavailable
from malipo.table_files.rows import CURRENT_STOP, LimitMet, Stop, TableRefusal

Read = TypeVar("Read")

AT_ONCE = 2
_FOLDER = "reading"
_LOOK_AGAIN_SECONDS = 0.05
_TRIES = 300  # Together a quarter of a minute.
_READ_SECONDS = 60.0  # the whole time of a reading for a page


class OwnFileBeingRead(TooMany):
    spoken = "file_being_read"  # Only pages show it.

    def __init__(self) -> None:
        super().__init__("Another file of yours is being read. Wait until it has ended.", retry_after_seconds=10)


class FilesBeingRead(Unavailable):
    spoken = "files_being_read"
    retry_after_seconds = 10

    def __init__(self) -> None:
        super().__init__("Several files are being read at this moment. Try again in a few seconds.")


class ReadingTurns:
    def __init__(self, data_dir: Path, *, tries: int = _TRIES) -> None:
        self._folder = data_dir / _FOLDER
        self._tries = tries

    async def read(self, who: str, act: Callable[[], Read]) -> Read:
        """Run this in a thread when its turn comes. If the caller stops waiting, the reading process is killed."""
        async with self.turn(who):
            stop, context = Stop(), copy_context()
            context.run(CURRENT_STOP.set, stop)
            reading = asyncio.get_running_loop().run_in_executor(None, context.run, act)
            try:
                async with asyncio.timeout(_READ_SECONDS):
                    return await asyncio.shield(reading)
            except TimeoutError:
                raise LimitMet("seconds", TableRefusal.SECONDS_OF_A_PAGE, most=round(_READ_SECONDS)) from None
            finally:
                if not reading.done():
                    stop.set()
                    await _end(reading)

    @asynccontextmanager
    async def turn(self, who: str, *, is_long: bool = False) -> AsyncIterator[None]:
        """One that is long, such as an import, leaves one of the places to those that are short."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        own = hashlib.sha256(who.encode()).hexdigest()[:32]
        places = range(2 if is_long else 1, AT_ONCE + 1)
        async with (
            self._locked([f"of-{own}"], OwnFileBeingRead()),
            self._locked([f"place-{number}" for number in places], FilesBeingRead()),
        ):
            yield

    @asynccontextmanager
    async def _locked(self, names: list[str], refusal: Exception) -> AsyncIterator[None]:
        """One of these. The file is removed with the lock: a merchant leaves nothing behind."""
        for _ in range(self._tries):
            for name in names:
                if (fd := _lock(self._folder / name)) is not None:
                    try:
                        yield
                    finally:
                        (self._folder / name).unlink(missing_ok=True)
                        os.close(fd)
                    return
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        raise refusal


async def _end(reading: asyncio.Future[Read]) -> None:
    """The thread ends a moment after its process. Its exception is ignored."""
    with suppress(Exception):
        await asyncio.wait_for(asyncio.shield(reading), 5)


def _lock(path: Path) -> int | None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The previous holder has removed the file, so this lock protects nothing.
        if os.fstat(fd).st_ino == path.stat().st_ino:
            return fd
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None

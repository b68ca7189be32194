"""Child processes: started, restarted when they die, stopped together with the parent.

A child's standard input is a pipe of the parent. The child ends when the pipe is closed, so not even a kill -9 of the
parent leaves it behind. On its standard output a child may say that it is ready: then it is waited for.
"""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from malipo import log
from malipo.errors import Impossible

UNTIL_STDIN_CLOSES = "--until-stdin-closes"
SAY_READY = "--say-ready"
SOCKETS = "--sockets"  # The numbers of listening sockets that a child gets from us.
READY = b"ready\n"
_AGAIN_SECONDS = 1.0
_STOP_SECONDS = 12.0


class NotStarted(Impossible):
    """A child ended before it was ready. It has said why itself."""


@dataclass(frozen=True)
class Program:
    """`MODULE ARGUMENTS`, as a child of ours."""

    module: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    stop_seconds: float = _STOP_SECONDS  # so long it may finish what is under way
    says_ready: bool = False
    inherited: Sequence[int] = ()  # files of ours that stay open in it

    @property
    def name(self) -> str:
        return " ".join([self.module, *self.arguments[:1]])

    @property
    def command(self) -> list[str]:
        """The command of a child process, by the path that we were called by: it may lead to a newer version by now."""
        is_installed = self.module == "malipo" and Path(sys.argv[0]).name == "malipo"
        program = [sys.argv[0]] if is_installed else [sys.executable, "-m", self.module]
        return [*program, *self.arguments, UNTIL_STDIN_CLOSES]


class Child:
    """One process, and after it has died another in its place."""

    def __init__(self, program: Program, output: IO[str]) -> None:
        self._program = program
        self._output = output
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self.times_ended = 0  # by itself

    async def start(self) -> None:
        """Return when it runs, and is ready if it says so."""
        process = await self._spawn()
        if self._program.says_ready:
            assert process.stdout is not None
            if await process.stdout.readline() != READY:
                await self.stop()
                raise NotStarted(f"{self._program.name} ended before it was ready.")
        self._keeper = asyncio.get_running_loop().create_task(self._keep(process))

    async def stop(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        if self._process is not None:
            await _stop(self._program, self._process)

    async def _spawn(self) -> asyncio.subprocess.Process:
        self._process = await asyncio.create_subprocess_exec(
            *self._program.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE if self._program.says_ready else self._output,
            stderr=self._output,
            env=dict(self._program.environment),
            pass_fds=self._program.inherited,
            # Ctrl-C reaches every process of the terminal's group. The parent decides in which order they end.
            start_new_session=True,
        )
        return self._process

    async def _keep(self, process: asyncio.subprocess.Process) -> None:
        while True:
            code = await process.wait()
            self.times_ended += 1
            log.error("child.ended", name=self._program.name, code=code)
            await asyncio.sleep(_AGAIN_SECONDS)
            process = await self._spawn()
            log.info("child.started_again", name=self._program.name)


class Children:
    def __init__(self, output: IO[str]) -> None:
        self._output = output
        self._all: list[Child] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(*(each.stop() for each in self._all))

    async def start(self, program: Program) -> Child:
        child = Child(program, self._output)
        self._all.append(child)
        await child.start()
        return child

    async def stop(self, child: Child) -> None:
        await child.stop()
        self._all.remove(child)


async def _stop(program: Program, process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(program.stop_seconds):
            await process.wait()
    except TimeoutError:
        log.warning("child.killed", name=program.name)
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def until_stdin_closes(stop: asyncio.Event) -> None:
    """A child waits on its standard input. Its end means that the parent process has ended."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb")
    )
    await reader.read()
    stop.set()


def say_ready() -> None:
    """Notify the parent, which waits for it, that this process is ready."""
    os.write(1, READY)

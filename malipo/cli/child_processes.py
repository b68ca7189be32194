"""Child processes: started, restarted when they die, stopped together with the parent.

A child's standard input is a pipe of the parent. The child ends when the pipe is closed, so not even a kill -9 of the
parent leaves it behind.
"""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO, Self

from malipo import log

UNTIL_STDIN_CLOSES = "--until-stdin-closes"
_AGAIN_SECONDS = 1.0
_STOP_SECONDS = 12.0


class Children:
    def __init__(self, output: IO[str]) -> None:
        self._output = output
        self._keepers: list[asyncio.Task[None]] = []
        self._starting: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._starting is not None:
            await self._starting
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)

    def start_soon(self, module: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self._starting = asyncio.get_running_loop().create_task(self.start(module, arguments, environment))

    async def start(self, module: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        """`python -m MODULE ARGUMENTS`, until the end."""
        command = [sys.executable, "-m", module, *arguments, UNTIL_STDIN_CLOSES]
        child = await self._spawn(command, environment)
        name = " ".join([module, *arguments[:1]])
        self._keepers.append(asyncio.get_running_loop().create_task(self._keep(name, child, command, environment)))

    async def _spawn(self, command: Sequence[str], environment: Mapping[str, str]) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=self._output,
            stderr=self._output,
            env=dict(environment),
            # Ctrl-C reaches every process of the terminal's group. The parent decides in which order they end.
            start_new_session=True,
        )

    async def _keep(
        self, name: str, child: asyncio.subprocess.Process, command: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        try:
            while True:
                log.error("child.ended", name=name, code=await child.wait())
                await asyncio.sleep(_AGAIN_SECONDS)
                child = await self._spawn(command, environment)
                log.info("child.started_again", name=name)
        finally:
            await _stop(name, child)


async def _stop(name: str, child: asyncio.subprocess.Process) -> None:
    if child.returncode is not None:
        return
    with suppress(ProcessLookupError):
        child.terminate()
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            await child.wait()
    except TimeoutError:
        log.warning("child.killed", name=name)
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()


async def until_stdin_closes(stop: asyncio.Event) -> None:
    """What a child does with the pipe: when it is closed, the parent has ended."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb")
    )
    await reader.read()
    stop.set()

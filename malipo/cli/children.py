"""Other processes that this one keeps running: started, started again when they die, stopped with us.

A child's standard input is a pipe that we hold. It ends when the pipe does, so not even a kill -9 of ours leaves it
behind.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import IO

from malipo import log

UNTIL_STDIN_CLOSES = "--until-stdin-closes"
_AGAIN_SECONDS = 1.0
_STOP_SECONDS = 12.0


@asynccontextmanager
async def kept_running(
    module: str, arguments: Sequence[str], *, environment: Mapping[str, str], output: IO[str]
) -> AsyncIterator[None]:
    """`python -m MODULE ARGUMENTS`, for as long as the block lasts."""
    command = [sys.executable, "-m", module, *arguments, UNTIL_STDIN_CLOSES]
    name = " ".join([module, *arguments[:1]])
    child = await _start(command, environment, output)
    keeper = asyncio.get_running_loop().create_task(_keep(name, child, command, environment, output))
    try:
        yield
    finally:
        keeper.cancel()
        with suppress(asyncio.CancelledError):
            await keeper


async def _start(command: Sequence[str], environment: Mapping[str, str], output: IO[str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=output,
        stderr=output,
        env=dict(environment),
        # Ctrl-C reaches every process of the terminal's group. Who ends when is for us to say.
        start_new_session=True,
    )


async def _keep(
    name: str,
    child: asyncio.subprocess.Process,
    command: Sequence[str],
    environment: Mapping[str, str],
    output: IO[str],
) -> None:
    try:
        while True:
            code = await child.wait()
            log.error("child.ended", name=name, code=code)
            await asyncio.sleep(_AGAIN_SECONDS)
            child = await _start(command, environment, output)
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
    """What a child does with the pipe: when it ends, whoever started us has gone."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb"))
    await reader.read()
    stop.set()

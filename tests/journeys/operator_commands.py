"""What an operator types: malipo's commands, each a process of its own."""

import asyncio
import os
import subprocess
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any

import msgspec

from tests import fork_server


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


async def malipo(*arguments: str, **settings: Any) -> Said:
    """Run `malipo ARGUMENTS` with these settings and nothing else in its environment."""
    return await asyncio.to_thread(_run, arguments, _environment(settings))


def run_command(*arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    """The same, as the standard library tells it."""
    said = _run(arguments, _environment(settings))
    return subprocess.CompletedProcess(arguments, said.code, said.out, said.err)


def _environment(settings: dict[str, Any]) -> dict[str, str]:
    named = {f"MALIPO_{name.upper()}": str(value) for name, value in settings.items()}
    return {"PATH": os.environ["PATH"], **named}


def _run(arguments: tuple[str, ...], environment: dict[str, str]) -> Said:
    with TemporaryFile() as out, TemporaryFile() as err:
        child = fork_server.run_module("malipo", *arguments, env=environment, stdout=out, stderr=err)
        try:
            code = child.wait(60)
        finally:
            child.kill()
        said = [os.pread(each.fileno(), 2**24, 0).decode() for each in (out, err)]
    return Said(code, *said)

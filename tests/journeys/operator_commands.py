"""What an operator types: malipo's commands, each a process of its own."""

import asyncio
import os
import subprocess
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any

import msgspec

from tests import fork_server
from tests.journeys import operator_sessions


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


async def malipo(*arguments: str, **settings: Any) -> Said:
    """Run `malipo ARGUMENTS` with these settings and nothing else in its environment; `operator` is logged in, and
    `typed` is on standard input."""
    typed = settings.pop("typed", "")
    return await asyncio.to_thread(lambda: _run(arguments, _environment(settings), typed))


def run_command(*arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    """The same, as the standard library tells it."""
    return run_in(_environment(settings), *arguments)


def run_in(environment: dict[str, str], *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """In an environment of one's own, with something on standard input."""
    said = _run(arguments, environment, typed)
    return subprocess.CompletedProcess(arguments, said.code, said.out, said.err)


def _environment(settings: dict[str, Any]) -> dict[str, str]:
    settings = {"operator_session": operator_sessions.folder() / "nobody", **settings}
    if operator := settings.pop("operator", None):
        settings["operator_session"] = operator_sessions.session_of(settings["database_url"], operator)
    named = {f"MALIPO_{name.upper()}": str(value) for name, value in settings.items()}
    return {"PATH": os.environ["PATH"], **named}


def _run(arguments: tuple[str, ...], environment: dict[str, str], typed: str = "") -> Said:
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(typed.encode())
        given.seek(0)
        child = fork_server.run_module("malipo", *arguments, env=environment, stdin=given, stdout=out, stderr=err)
        try:
            code = child.wait(60)
        finally:
            child.kill()
        said = [os.pread(each.fileno(), 2**24, 0).decode() for each in (out, err)]
    return Said(code, *said)

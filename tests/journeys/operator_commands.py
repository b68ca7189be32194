"""Runs malipo's commands as an operator does, each in its own process."""

import asyncio
import os
import re
import subprocess
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any

import msgspec

from tests import fork_server
from tests.journeys import operator_sessions
from tests.journeys.session_folder import session_folder


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


# How a command that approves names what it has shown, and asks for.
_CODE = re.compile(r"name its code: --seen (\w+)")
_OTHER_CODE = re.compile(r"what waits now: --seen (\w+)")


async def malipo(*arguments: str, **settings: Any) -> Said:
    """Run `malipo ARGUMENTS` with these settings and nothing else in its environment; `operator` is logged in, and
    `typed` is on standard input."""
    typed = settings.pop("typed", "")
    return await asyncio.to_thread(lambda: _run(arguments, _environment(settings), typed))


async def malipo_unseen(*arguments: str, **settings: Any) -> Said:
    """Of who approves, and names no code of what they have seen, or the one that is given."""
    typed = settings.pop("typed", "")
    return await asyncio.to_thread(lambda: _run_once(arguments, _environment(settings), typed))


def code_asked_for(said: Said) -> str | None:
    """Of what the command has shown, to whoever named no code, or one of what waited before."""
    shown = _CODE.search(said.err) or _OTHER_CODE.search(said.err)
    return shown and shown[1]


async def malipo_at_terminal(*arguments: str, typed: str, **settings: Any) -> Said:
    """Of a person at a terminal, who types this line."""
    return await asyncio.to_thread(lambda: _run_at_terminal(arguments, _environment(settings), typed))


def _run_at_terminal(arguments: tuple[str, ...], environment: dict[str, str], typed: str) -> Said:
    screen, keyboard = os.openpty()
    try:
        with os.fdopen(keyboard, "rb", buffering=0) as given:
            os.write(screen, f"{typed}\n".encode())
            return _of_child(arguments, environment, given)
    finally:
        os.close(screen)


def run_command(*arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    """The same, as the standard library returns it."""
    return run_in(_environment(settings), *arguments)


def run_in(environment: dict[str, str], *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """In an environment of one's own, with something on standard input."""
    said = _run(arguments, environment, typed)
    return subprocess.CompletedProcess(arguments, said.code, said.out, said.err)


def _environment(settings: dict[str, Any]) -> dict[str, str]:
    settings = {"operator_session": session_folder() / "nobody", **settings}
    if operator := settings.pop("operator", None):
        settings["operator_session"] = operator_sessions.session_of(settings["database_url"], operator)
    named = {f"MALIPO_{name.upper()}": str(value) for name, value in settings.items()}
    return {"PATH": os.environ["PATH"], **named}


def _run(arguments: tuple[str, ...], environment: dict[str, str], typed: str = "") -> Said:
    """Whoever approves looks at what is shown, and then names its code."""
    said = _run_once(arguments, environment, typed)
    shown = _CODE.search(said.err)
    return said if shown is None else _run_once((*arguments, "--seen", shown[1]), environment, typed)


def _run_once(arguments: tuple[str, ...], environment: dict[str, str], typed: str = "") -> Said:
    with TemporaryFile() as given:
        given.write(typed.encode())
        given.seek(0)
        return _of_child(arguments, environment, given)


def _of_child(arguments: tuple[str, ...], environment: dict[str, str], given: IO[bytes]) -> Said:
    with TemporaryFile() as out, TemporaryFile() as err:
        child = fork_server.run_module("malipo", *arguments, env=environment, stdin=given, stdout=out, stderr=err)
        try:
            code = child.wait(280)  # A file is read after everything else on the machine. A test may take 300.
        finally:
            child.kill()
        said = [os.pread(each.fileno(), 2**24, 0).decode() for each in (out, err)]
    return Said(code, *said)

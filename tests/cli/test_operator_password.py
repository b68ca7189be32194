"""malipo operators password: typed twice and never shown, or read from a pipe; kept as a hash."""

import os
import pty
import subprocess
import sys

import pytest

from malipo import clock
from malipo.accounts.passwords import Passwords
from malipo.audit_log import store as audit_log
from malipo.db import Database
from malipo.operators import store as operators
from malipo.operators import store as sessions
from tests.journeys.operator_commands import run_in

PASSWORD = "maji ya kunde 7"
COMMAND = [sys.executable, "-m", "malipo", "operators", "password"]


@pytest.fixture
async def asha(database: Database) -> str:
    """An operator who is logged in."""
    async with database.begin() as tx:
        now = clock.now()
        await operators.insert_operator(tx, "opr_1", "asha", now=now)
        await sessions.insert(
            tx,
            "ops_1",
            "opr_1",
            now=now,
            confirmed_at=now,
            expires_at=now.replace(year=2100),
            address="10.0.0.1",
        )
    return "asha"


def environment(database_url: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "MALIPO_DATABASE_URL": database_url}


def piped(database_url: str, *arguments: str, text: str) -> subprocess.CompletedProcess[str]:
    return run_in(environment(database_url), "operators", "password", *arguments, "--stdin", typed=text)


def typed(database_url: str, name: str, *lines: str) -> tuple[int, str, str]:
    """At a terminal: a line for each question. Its exit code, what it wrote, and what the terminal showed of the typing."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, name],
        env=environment(database_url),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        wrote = b""
        for line in lines:
            while not wrote.endswith(b": "):
                wrote += os.read(process.stdout.fileno(), 1)
            os.write(ours, line.encode() + b"\n")
            wrote += os.read(process.stdout.fileno(), 1)  # It has been read: the next question, or the end.
        wrote += process.stdout.read()
    os.set_blocking(ours, False)
    try:
        shown = os.read(ours, 1000)
    except BlockingIOError:
        shown = b""
    os.close(ours)
    os.close(theirs)
    return process.returncode, wrote.decode(), shown.decode()


async def _kept(database: Database) -> str | None:
    async with database.read() as connection:
        operator = await sessions.find_operator(connection, "asha")
    assert operator is not None
    return operator.password_hash


async def test_a_password_from_a_pipe_is_kept_as_a_hash_noted_and_ends_sessions(
    database: Database, database_url: str, asha: str
) -> None:
    done = piped(database_url, " ASHA", text=f"{PASSWORD}\nand more\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert PASSWORD not in done.stdout
    kept = await _kept(database)
    assert kept is not None
    assert kept.startswith("$argon2id$")
    assert await Passwords().is_right(PASSWORD, kept)
    async with database.read() as connection:
        [deed] = await audit_log.find(connection, limit=5)
        assert await sessions.get_live(connection, "ops_1", now=clock.now()) is None
    assert (deed.action, deed.details) == ("operator.password_set", {"name": asha})


async def test_a_password_is_asked_for_twice_and_not_shown(database: Database, database_url: str, asha: str) -> None:
    code, wrote, shown = typed(database_url, asha, PASSWORD, PASSWORD)
    assert code == 0, wrote
    assert PASSWORD not in wrote + shown
    assert await Passwords().is_right(PASSWORD, await _kept(database))

    code, wrote, _ = typed(database_url, asha, "another one 8", "another one 9")
    assert code == 2
    assert "not the same password" in wrote
    assert await Passwords().is_right(PASSWORD, await _kept(database)), "as before"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("asha", "short\n", "must be 10 to 200 characters"),
        ("asha", "", "Standard input ended before the new password"),
        ("asha", "\n", "must be 10 to 200 characters"),
        ("asha", "aaaaaaaaaaaa\n", "too easy to guess"),
        ("asha", "password123\n", "too easy to guess: it is like one that many people use"),
        ("juma", f"{PASSWORD}\n", "There is no operator 'juma'"),
    ],
)
async def test_an_impossible_password_or_an_unknown_operator_is_refused_in_one_sentence(
    database: Database, database_url: str, asha: str, *, name: str, text: str, why: str
) -> None:
    done = piped(database_url, name, text=text)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert await _kept(database) is None

"""Standard input that nobody types on, and standard output that nobody reads: a sentence and an exit code, no traceback."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "malipo"]


def run(*arguments: str, database_url: str = "", redirected: str = "") -> subprocess.CompletedProcess[str]:
    """In a session of its own, so that no terminal of the tests can be asked."""
    return subprocess.run(
        ["sh", "-c", f"exec {shlex.join([*COMMAND, *arguments])} {redirected}"],
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        | ({"MALIPO_DATABASE_URL": database_url} if database_url else {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        start_new_session=True,
    )


def write_for_nobody(*arguments: str, environment: dict[str, str], with_errors: bool = False) -> tuple[int, str]:
    """Its exit code and what it complains of, when whoever reads its output has gone."""
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        done = subprocess.run(
            [*COMMAND, *arguments],
            env={"PATH": os.environ["PATH"]} | environment,
            stdout=theirs,
            stderr=theirs if with_errors else subprocess.PIPE,
            timeout=240,
        )
    finally:
        os.close(theirs)
    return done.returncode, (done.stderr or b"").decode()


@pytest.mark.parametrize(
    ("arguments", "redirected", "why"),
    [
        (("operators", "password", "asha"), "", "There is no terminal to ask for the new password: use --stdin."),
        (("operators", "password", "asha"), "<&-", "There is no terminal to ask for the new password: use --stdin."),
        (("operators", "password", "asha", "--stdin"), "", "Standard input ended before the new password."),
        (("operators", "password", "asha", "--stdin"), "<&-", "Standard input ended before the new password."),
        (("operators", "login", "asha"), "", "There is no terminal to ask for the password: use --stdin."),
        (("operators", "login"), "", "There is no terminal to ask for the name: give it with the command."),
    ],
)
def test_where_nobody_can_be_asked_one_sentence_says_what_to_do(
    arguments: tuple[str, ...], redirected: str, why: str
) -> None:
    done = run(*arguments, redirected=redirected)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"malipo: {why}\n")


def test_bytes_that_are_no_text_are_no_password(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\xfd\n")
    done = run("operators", "password", "asha", "--stdin", redirected=f"< {shlex.quote(str(tmp_path / 'bytes'))}")
    assert (done.returncode, done.stderr) == (2, "malipo: The new password on standard input is not text.\n")


@pytest.mark.parametrize("arguments", [("--help",), ("merchant", "list"), ("audit", "--json")], ids=" ".join)
async def test_output_that_nobody_reads_any_more_ends_the_command_quietly(
    database_url: str, arguments: tuple[str, ...]
) -> None:
    environment = {"MALIPO_DATABASE_URL": database_url}
    assert write_for_nobody(*arguments, environment=environment) == (141, "")


def test_errors_that_nobody_reads_any_more_do_too() -> None:
    assert write_for_nobody("frobnicate", environment={}, with_errors=True) == (141, "")


async def test_output_for_which_there_is_no_space_is_said(database_url: str) -> None:
    done = run("merchant", "list", database_url=database_url, redirected="> /dev/full")
    assert (done.returncode, done.stderr) == (1, "malipo: The output cannot be written: no space is left.\n")

"""Names that others have chosen are printed on one line, without control characters for the terminal."""

import os
import subprocess
import sys

import pytest

from malipo import clock
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.cli.output import cell
from malipo.db import Database
from tests.conftest import Merchant
from tests.journeys.operator_commands import malipo

_FORGED = "a\n2026-11-16T10:00:00Z  operator juma  wallet.top_up \x1b[1A\x9b2J\u202e"


@pytest.mark.parametrize("value", [_FORGED, [_FORGED, "b"], {"name": "\u2028"}], ids=["text", "list", "other"])
def test_a_cell_is_one_printable_line(value: object) -> None:
    assert cell(value).isprintable()


def test_a_character_that_cannot_be_printed_is_shown_by_its_number() -> None:
    assert cell("é\x1b\x9b\u202e") == "é\\x1b\\x9b\\u202e"


async def test_a_name_forges_no_line_of_the_audit_log(
    database: Database, database_url: str, merchant: Merchant
) -> None:
    async with database.begin() as tx:
        actor = Actor("owner@example.com", "10.0.0.1")
        await audit_log.append(tx, actor, "api_key.created", now=clock.now(), merchant_id=merchant.id, name=_FORGED)
    said = await malipo("audit", "--limit", "1", database_url=database_url)
    assert said.code == 0
    assert len(said.out.splitlines()) == 2, "the heading and the entry"
    assert all(line.isprintable() for line in said.out.splitlines())


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ("10.9.8.7 1 10.0.0.1 22", " from 10.9.8.7"),
        ("2001:db8::7 1 ::1 22", " from 2001:db8::7"),
        ("juma's\x1b[1A 1 10.0.0.1 22", ""),
        ("fe80::1%\n2026 1 ::1 22", " from fe80::1"),
        ("", ""),
    ],
)
def test_the_variable_of_a_remote_shell_is_used_only_if_it_is_an_address(variable: str, expected: str) -> None:
    code = "from malipo.cli.actor import host, origin; print(repr(origin().removeprefix(host())))"
    environment = {"PATH": os.environ["PATH"], "SSH_CONNECTION": variable}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{expected!r}\n"

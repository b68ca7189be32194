"""Who approves at the command line has typed the password, and the code, in the last ten minutes."""

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from malipo import clock, ids
from malipo.audit_log import store as audit_log
from malipo.db import Database
from malipo.operators import store as operators
from tests import fork_server
from tests.authenticator_app import AuthenticatorApp, enrolled
from tests.cheap_hash import cheap_hash
from tests.cli.test_operator_code import KEY
from tests.cli.test_operator_session import PASSWORD, Terminal
from tests.conftest import Merchant
from tests.journeys import database_facts, operator_sessions
from tests.journeys.full_stack import until
from tests.journeys.operator_commands import malipo

APPROVE = ("wallet", "approve", "NMB-1", "--here")


class Juma(Terminal):
    """Who could approve what asha has proposed, logged in some minutes ago."""

    def __init__(self, database_url: str, database: Database, id_: str, merchant_id: str) -> None:
        file = operator_sessions.session_of(database_url, "juma")
        super().__init__(database_url, MALIPO_OPERATOR_SESSION=str(file), MALIPO_SECRET_KEY=KEY)
        self.id = id_
        self._database = database
        self._merchant_id = merchant_id

    async def wait(self, minutes: int) -> None:
        async with self._database.begin() as tx:
            await tx.execute(
                "UPDATE operator_sessions SET confirmed_at = now() - make_interval(mins => $2) WHERE operator_id = $1",
                self.id,
                minutes,
            )

    def type_to_approve(self, *lines: str) -> tuple[int, str]:
        done = self(*APPROVE, "--stdin", typed="".join(f"{line}\n" for line in lines))
        return done.returncode, done.stderr

    async def has_booked(self) -> bool:
        return (await database_facts.wallet(self._database, self._merchant_id))[0] >= 2_500_000


@pytest.fixture
async def juma(database: Database, database_url: str, merchant: Merchant, tmp_path: Path) -> Juma:
    password_hash, made = cheap_hash(), {}
    async with database.begin() as tx:
        for name in ("asha", "juma"):
            made[name] = ids.mint("opr_", clock.now())
            await operators.insert_operator(tx, made[name], name, now=clock.now())
            await operators.set_password(tx, made[name], password_hash)
    top_up = ("wallet", "top-up", merchant.id, "2500000", "--reference", "NMB-1")
    assert (await malipo(*top_up, database_url=database_url, operator="asha")).code == 0
    return Juma(database_url, database, made["juma"], merchant.id)


async def test_an_old_session_alone_approves_nothing(juma: Juma) -> None:
    await juma.wait(11)
    for wrong in (juma(*APPROVE), juma(*APPROVE, "--stdin"), juma(*APPROVE, "--stdin", typed="not it at all\n")):
        assert (wrong.returncode, wrong.stdout) == (2, "")
        assert "password" in wrong.stderr
    assert not await juma.has_booked()


async def test_the_password_is_asked_for_once_in_ten_minutes(juma: Juma) -> None:
    await juma.wait(11)
    assert juma.type_to_approve(PASSWORD) == (0, "")
    assert await juma.has_booked()
    again = juma(*APPROVE)
    assert "already approved by operator juma" in again.stderr, "and nothing was asked"
    await juma.wait(11)
    assert "password" in juma(*APPROVE).stderr


async def test_a_session_of_some_minutes_is_not_asked(juma: Juma) -> None:
    await juma.wait(8)
    assert juma(*APPROVE).returncode == 0
    assert await juma.has_booked()


async def test_an_operator_with_a_second_factor_types_a_code_too_whatever_a_variable_says(
    juma: Juma, database: Database
) -> None:
    app = await enrolled(database, juma.id, secret_key=KEY)
    await juma.wait(11)
    for lines in ((PASSWORD,), (PASSWORD, ""), (PASSWORD, app.wrong_code())):
        assert juma.type_to_approve(*lines)[0] == 2
    assert not await juma.has_booked()
    assert juma.type_to_approve(PASSWORD, app.code()) == (0, "")
    assert await juma.has_booked()


async def test_a_release_alone_is_asked_for_too(juma: Juma) -> None:
    await juma.wait(11)
    release = ("restore", "release", "--evidence", "The statement of today", "--alone")
    asked = juma(*release)
    assert (asked.returncode, "password of juma" in asked.stderr) == (2, True)


async def test_the_audit_log_says_that_a_log_in_needed_no_code(juma: Juma, database: Database, tmp_path: Path) -> None:
    home = Terminal(juma.database_url, HOME=str(tmp_path), MALIPO_SECRET_KEY=KEY)
    log_in = ("operators", "login", "juma", "--stdin")
    assert home(*log_in, typed=f"{PASSWORD}\n").returncode == 0
    assert await _logged_in(database) == {"without_code": True}
    app: AuthenticatorApp = await enrolled(database, juma.id, secret_key=KEY)
    assert home(*log_in, typed=f"{PASSWORD}\n").returncode == 2, "the variable says optional"
    assert home(*log_in, typed=f"{PASSWORD}\n{app.code()}\n").returncode == 0
    assert await _logged_in(database) == {}


async def _logged_in(database: Database) -> dict[str, object]:
    async with database.read() as connection:
        found = await audit_log.find(connection, limit=50)
    return dict(next(each.details for each in found if each.action == "operator.logged_in"))


async def test_an_operator_who_types_yes_long_after_the_password_is_asked_for_it_again(juma: Juma) -> None:
    """They have left the terminal with the question on it, and somebody else types yes."""
    screen, keyboard = os.openpty()
    with os.fdopen(keyboard, "rb", buffering=0) as given, TemporaryFile() as out, TemporaryFile() as err:

        async def until_asked(question: bytes) -> None:
            async def is_asked() -> bool:
                return question in os.pread(err.fileno(), 2**20, 0)

            await until(is_asked, what=question.decode())

        environment = juma.environment
        child = fork_server.run_module("malipo", *APPROVE, env=environment, stdin=given, stdout=out, stderr=err)
        try:
            await until_asked(b"Type yes")
            await juma.wait(11)
            os.write(screen, b"yes\n")
            await until_asked(b"Password of juma")
            os.write(screen, b"not it at all\n")
            assert await asyncio.to_thread(child.wait, 60) == 2
        finally:
            child.kill()
            os.close(screen)
    assert not await juma.has_booked()

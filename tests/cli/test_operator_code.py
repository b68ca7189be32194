"""malipo operators login asks for a code, as the pages do: a password alone is not enough."""

from pathlib import Path

import pytest

from malipo import clock, ids
from malipo.db import Database
from malipo.operators import store as operators
from tests.authenticator_app import AuthenticatorApp, enrolled
from tests.cheap_hash import cheap_hash
from tests.cli.test_operator_session import PASSWORD, Terminal

KEY = "5b1f0c9e7d3a48f6a2c4e8d0b6f1a3c5"


class Asha(Terminal):
    def __init__(self, database_url: str, home: Path) -> None:
        super().__init__(database_url, HOME=str(home), MALIPO_SECRET_KEY=KEY, MALIPO_OPERATOR_SECOND_FACTOR="required")

    def log_in(self, *lines: str) -> tuple[int, str]:
        done = self("operators", "login", "asha", "--stdin", typed="".join(f"{line}\n" for line in lines))
        return done.returncode, done.stderr

    @property
    def is_logged_in(self) -> bool:
        return self("operators", "whoami").returncode == 0


@pytest.fixture
async def operator_id(database: Database) -> str:
    operator_id = ids.mint("opr_", clock.now())
    async with database.begin() as tx:
        await operators.insert_operator(tx, operator_id, "asha", now=clock.now())
        await operators.set_password(tx, operator_id, cheap_hash())
    return operator_id


@pytest.fixture
async def app(database: Database, operator_id: str) -> AuthenticatorApp:
    return await enrolled(database, operator_id, secret_key=KEY)


@pytest.fixture
def asha(database_url: str, tmp_path: Path) -> Asha:
    return Asha(database_url, tmp_path)


async def test_the_password_and_a_code_are_an_operator(asha: Asha, app: AuthenticatorApp) -> None:
    assert asha.log_in(PASSWORD, app.code()) == (0, "")
    assert asha.is_logged_in


async def test_the_password_alone_is_not(asha: Asha, app: AuthenticatorApp) -> None:
    for lines in ((PASSWORD,), (PASSWORD, app.wrong_code()), (PASSWORD, "")):
        code, said = asha.log_in(*lines)
        assert code == 2
        assert said.startswith("malipo: ")
        assert not asha.is_logged_in


async def test_a_recovery_code_works_once(asha: Asha, app: AuthenticatorApp) -> None:
    assert asha.log_in(PASSWORD, app.recovery_codes[0]) == (0, "")
    assert asha("operators", "logout").returncode == 0
    assert asha.log_in(PASSWORD, app.recovery_codes[0])[0] == 2
    assert not asha.is_logged_in


@pytest.mark.usefixtures("operator_id")
async def test_an_operator_without_a_second_factor_is_sent_to_the_pages(asha: Asha, database: Database) -> None:
    code, said = asha.log_in(PASSWORD)
    assert code == 2
    assert "Log in at /operator once, and set it up" in said
    assert not asha.is_logged_in
    async with database.read() as connection:
        assert await connection.fetchval("SELECT count(*) FROM operator_sessions WHERE ended_at IS NULL") == 0

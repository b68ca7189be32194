"""docs/operating/database-roles.md: its SQL runs as it stands there, and malipo works with its roles."""

import secrets
from pathlib import Path

import asyncpg
import pytest

from malipo import clock
from malipo.app.assemble import assemble
from malipo.db import Database
from malipo.db.migrate import migrate
from malipo.encryption import Encryption
from malipo.payments.transaction import Status, Type
from malipo.reconciliation.close.close_day import close_day
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.settings import Settings
from tests.cli.database_roles import READING, RIGHTS, RIGHTS_OF_TABLES, ROLES, statements, with_options
from tests.conftest import NO_LIMITS, SECRET_KEY, make_merchant, named
from tests.journeys.operator_commands import malipo
from tests.payments.payment_steps import PaymentSteps
from tests.reconciliation.close.books import last_to_close
from tests.reconciliation.statement_days import ASHA, Statements, line_of
from tests.reconciliation.test_withdraw_statement import withdraw


class Roles:
    """The roles of the page, with names of the test's own: roles are the whole server's."""

    def __init__(self, postgres: str) -> None:
        self._postgres = postgres
        self.name = f"malipo_{secrets.token_hex(4)}"

    async def execute(self, url: str, text: str) -> None:
        connection = await asyncpg.connect(url)
        try:
            for each in statements(text, roles=self.name, database=self.name):
                await connection.execute(each)
        finally:
            await connection.close()

    async def create(self) -> None:
        await self.execute(self._postgres, ROLES)
        await self.execute(self.url(), RIGHTS)

    def url(self, role: str | None = None) -> str:
        """As ALTER ROLE … SET role: the tests' server lets only its own role in."""
        url = named(self._postgres, self.name)
        return url if role is None else with_options(url, role=f"{self.name}_{role}")


@pytest.fixture
async def roles(postgres: str) -> Roles:
    made = Roles(postgres)
    await made.create()
    return made


async def _refuses(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    finally:
        await connection.close()


async def test_the_owner_migrates_the_app_works_and_the_reader_and_the_backup_read(roles: Roles) -> None:
    async with Database.opened(roles.url("owner"), size=2) as database:
        await migrate(database)

    async with Database.opened(roles.url("app"), size=4) as database:
        service = assemble(Settings(**NO_LIMITS), database)
        merchant = await make_merchant(database, wallet=10_000)
        steps = PaymentSteps(service, merchant.id)
        assert (await steps.open(Type.DISBURSEMENT)).status is Status.PENDING
    await _refuses(roles.url("app"), "CREATE TABLE mine (id int)")
    await _refuses(roles.url("app"), "ALTER TABLE moves ADD COLUMN mine int")
    await _refuses(roles.url("app"), "TRUNCATE moves")

    for role in ("reader", "backup"):
        connection = await asyncpg.connect(roles.url(role))
        assert await connection.fetchval("SELECT count(*) FROM transactions") == 1
        await connection.close()
        await _refuses(roles.url(role), "UPDATE wallets SET available = 0")
    said = await malipo("ledger", "check", database_url=roles.url("reader"))
    assert (said.code, said.err) == (0, "")
    assert "ledger check" in READING


async def test_the_app_imports_matches_and_withdraws_statements_and_closes_days(roles: Roles, tmp_path: Path) -> None:
    async with Database.opened(roles.url("owner"), size=2) as database:
        await migrate(database)

    async with Database.opened(roles.url("app"), size=4) as database:
        service = assemble(Settings(**NO_LIMITS), database)
        merchant = await make_merchant(database, wallet=10_000)
        steps = PaymentSteps(service, merchant.id)
        statements_of_it = Statements(steps, tmp_path)
        payment = await steps.processing(Type.COLLECTION, 500)
        loaded = await statements_of_it.load(statements_of_it.write(line_of(payment)))
        await statements_of_it.match()
        assert await steps.status(payment) is Status.COMPLETED
        await withdraw(statements_of_it, loaded.file.id)
        day = last_to_close(clock.now())
        async with database.begin() as tx:
            done = await close_day(tx, day, encryption=Encryption(SECRET_KEY), actor=ASHA, now=clock.now())
        assert isinstance(done, ClosedDay)


async def test_tables_that_were_there_before_the_roles_are_given_to_them(roles: Roles) -> None:
    async with Database.opened(roles.url(), size=2) as database:  # As with one role for everything.
        await migrate(database)
    await _refuses(roles.url("app"), "SELECT FROM merchants")
    await roles.execute(roles.url(), RIGHTS_OF_TABLES)
    async with Database.opened(roles.url("app"), size=2) as database:
        await make_merchant(database, wallet=10_000)

"""Migrations: from nothing, by several at once, never half, never backwards; also on the oldest PostgreSQL."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from malipo.app.assemble import Service, assemble
from malipo.db import Database
from malipo.db.embedded import server
from malipo.db.migrate import migrate
from malipo.db.schema import OLDEST_SCHEMA, SchemaTooNew, migrations, read_schema
from malipo.payments.cancel import Cancellation, NotCancellable
from malipo.payments.initiate import InsufficientBalance
from malipo.payments.listing import transaction_list
from malipo.payments.listing.filters import TransactionFilter
from malipo.payments.status_writer import StatusChange
from malipo.payments.store import transactions
from malipo.payments.transaction import Cause, Status, Type
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, SECRET_KEY, _create, free_port, make_merchant
from tests.db.lock_waits import are_waiting
from tests.journeys import database_facts
from tests.journeys.concurrency import order
from tests.journeys.full_stack import until
from tests.journeys.operator_commands import malipo
from tests.operators.booking_steps import LARGE, Desk
from tests.status_changes import change_status

POSTGRES_15 = Path("/usr/lib/postgresql/15/bin")

NUMBERS = [each.number for each in migrations()]


@pytest.fixture
async def empty_url(postgres: str) -> str:
    """A database in which nothing was ever done."""
    return await _create(postgres, f"empty_{secrets.token_hex(6)}")


@pytest.fixture
async def empty(empty_url: str) -> AsyncIterator[Database]:
    database = Database(empty_url, size=10)
    await database.open()
    yield database
    await database.close()


async def _tables(database: Database) -> set[str]:
    async with database.read() as connection:
        rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return {row["tablename"] for row in rows}


async def _applied(database: Database) -> list[int]:
    async with database.read() as connection:
        rows = await connection.fetch("SELECT number FROM schema_migrations ORDER BY number")
    return [row["number"] for row in rows]


async def _pending(database: Database) -> list[int]:
    async with database.read() as connection:
        return [each.number for each in (await read_schema(connection)).pending(migrations())]


def test_migrations_are_numbered_from_one_without_a_gap() -> None:
    assert list(range(1, len(NUMBERS) + 1)) == NUMBERS


async def test_an_empty_database_is_migrated_once_and_then_waits_for_nothing(empty: Database) -> None:
    waited_for = await _pending(empty)

    applied = await migrate(empty)

    assert waited_for == [each.number for each in applied] == await _applied(empty) == NUMBERS
    assert await _pending(empty) == []
    assert {"merchants", "wallets", "moves", "transactions", "events"} <= await _tables(empty)
    assert await migrate(empty) == []


async def test_several_processes_that_migrate_at_once_apply_each_migration_once(
    empty: Database, empty_url: str
) -> None:
    said = await asyncio.gather(*(malipo("migrate", database_url=empty_url) for _ in range(4)))

    assert [each.code for each in said] == [0] * 4, said
    assert {each.out.strip() for each in said} == {f"The schema is at migration {NUMBERS[-1]}."}
    assert await _applied(empty) == NUMBERS


async def test_several_connections_that_migrate_at_once_agree_on_who_did_it(empty: Database) -> None:
    applied = await asyncio.gather(*(migrate(empty) for _ in range(8)))

    assert sorted(each.number for some in applied for each in some) == NUMBERS
    assert await _applied(empty) == NUMBERS


async def test_a_newer_schema_is_refused_with_a_sentence_and_left_alone(empty: Database, empty_url: str) -> None:
    await migrate(empty)
    async with empty.begin() as tx:
        await tx.execute("INSERT INTO schema_migrations (number, name, checksum) VALUES (9999, 'from_the_future', '')")

    with pytest.raises(SchemaTooNew):
        await migrate(empty)
    for command in (["migrate"], ["serve"], ["ledger", "check"]):
        said = await malipo(*command, database_url=empty_url, secret_key=SECRET_KEY, port=free_port())
        assert said.code == 1
        assert said.err.strip().splitlines()[-1] == (
            "malipo: The database is at migration 9999 and no longer serves this version of malipo, which ends at "
            f"migration {NUMBERS[-1]}: start the newer version."
        )
        assert "Traceback" not in said.err
    assert await _applied(empty) == [*NUMBERS, 9999]


async def test_a_migration_that_breaks_leaves_nothing_behind(empty: Database) -> None:
    """The last table of the first migration is already somebody's, so it breaks when most of it is done."""
    async with empty.begin() as tx:
        await tx.execute("CREATE TABLE audit_log (mine text)")

    with pytest.raises(asyncpg.DuplicateTableError):
        await migrate(empty)

    assert await _tables(empty) == {"audit_log"}
    assert await _pending(empty) == NUMBERS
    async with empty.begin() as tx:
        await tx.execute("DROP TABLE audit_log")
    assert [each.number for each in await migrate(empty)] == NUMBERS


async def test_whoever_migrates_waits_for_the_one_who_migrates_already(empty: Database) -> None:
    async with empty.begin() as tx:
        await tx.execute("SELECT pg_advisory_xact_lock($1)", int.from_bytes(b"mali", "big"))
        waiting = asyncio.create_task(migrate(empty))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        assert await _tables(empty) == set()

    assert [each.number for each in await waiting] == NUMBERS


@pytest.fixture
def postgres_15() -> Path:
    if not POSTGRES_15.exists():
        reason = f"PostgreSQL 15 is not in {POSTGRES_15}, so nothing proves that malipo runs on it"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return POSTGRES_15


async def test_the_oldest_postgresql_we_promise_takes_the_schema_and_every_act(
    postgres_15: Path, tmp_path: Path
) -> None:
    with server(tmp_path, binaries=postgres_15) as url:
        database = Database(url, size=10)
        await database.open()
        try:
            async with database.read() as connection:
                version = await connection.fetchval("SHOW server_version_num")
            assert int(version) // 10_000 == 15
            await migrate(database)
            assert await _pending(database) == []
            await _live_a_life(assemble(Settings(**NO_LIMITS), database))
            checked = await malipo("ledger", "check", database_url=url)
        finally:
            await database.close()

    assert (checked.code, checked.err) == (0, "")


async def test_the_newest_postgresql_takes_the_same(service: Service, database_url: str) -> None:
    await _live_a_life(service)

    assert (await malipo("ledger", "check", database_url=database_url)).code == 0


async def test_this_version_does_the_same_on_the_oldest_schema_that_it_says_it_serves(
    empty: Database, empty_url: str
) -> None:
    """As new processes do that were started before anybody has migrated."""
    async with empty.begin() as tx:
        await tx.execute(
            """
            CREATE TABLE schema_migrations (
                number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL,
                applied_at timestamptz NOT NULL DEFAULT now()
            )
            """
        )
        for each in migrations()[:OLDEST_SCHEMA]:
            await tx.execute(each.sql)
            values = (each.number, each.name, each.checksum)
            await tx.execute("INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3)", *values)

    service = assemble(Settings(**NO_LIMITS), empty)
    await _live_a_life(service)
    await service.finish()

    assert (await malipo("ledger", "check", database_url=empty_url)).code == 0
    assert await _pending(empty) == NUMBERS[OLDEST_SCHEMA:]


@pytest.mark.slow
async def test_a_migration_that_waits_for_a_lock_lets_requests_pass_and_tries_again(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    until_then = [each for each in migrations() if each.number <= 15]  # one that can be undone by hand
    monkeypatch.setattr("malipo.db.migrate.migrations", lambda: until_then)
    await migrate(empty)
    async with empty.begin() as tx:
        await tx.execute("ALTER TABLE schema_migrations DROP COLUMN serves")
        await tx.execute("DELETE FROM schema_migrations WHERE number >= 15")

    async def waits() -> bool:
        return await are_waiting(empty)

    async def waits_no_more() -> bool:
        return not await waits()

    async with empty.begin() as reader:
        await reader.execute("SELECT FROM schema_migrations")
        migrating = asyncio.create_task(migrate(empty))
        await until(waits, what="a migration that waits")
        await until(waits_no_more, what="its giving way")
        assert not migrating.done()
    assert [each.number for each in await migrating] == [15]


async def _live_a_life(service: Service) -> None:
    """Everything that a payment can go through, through the service, so that every statement has run."""
    merchant = await make_merchant(service.queries.database, wallet=10_000)
    async with service.queries.database.begin() as tx:
        await tx.execute("INSERT INTO tariffs VALUES ($1, 'COLLECTION', 'MPESA', 0, 0, 100, 0, NULL)", merchant.id)

    def news(transaction_id: str, cause: Cause) -> StatusChange:
        code = "declined" if cause is Cause.REFUSED else None
        return StatusChange(merchant_id=merchant.id, transaction_id=transaction_id, cause=cause, failure_code=code)

    collections = await asyncio.gather(
        *(service.payments.initiate(order(merchant.id, Type.COLLECTION, 1000, key=f"order-{n}")) for n in range(3))
    )
    payouts = await asyncio.gather(
        *(service.payments.initiate(order(merchant.id, Type.DISBURSEMENT, 2000, key=f"order-{n}")) for n in range(4))
    )
    again = await service.payments.initiate(order(merchant.id, Type.DISBURSEMENT, 2000, key="order-0"))
    assert (again.is_replay, again.transaction.id) == (True, payouts[0].transaction.id)
    with pytest.raises(InsufficientBalance):
        await service.payments.initiate(order(merchant.id, Type.DISBURSEMENT, 5000, key="poor"))
    cancelled = await service.payments.cancel(Cancellation(merchant.id, payouts[0].transaction.reference))
    assert cancelled.status is Status.CANCELLED
    for paid in (collections[0], payouts[1]):
        assert await change_status(service, news(paid.transaction.id, Cause.SUBMITTED))
        assert await change_status(service, news(paid.transaction.id, Cause.CONFIRMED))
    assert await change_status(service, news(payouts[2].transaction.id, Cause.SUBMITTED))
    assert await change_status(service, news(payouts[2].transaction.id, Cause.REFUSED))
    with pytest.raises(NotCancellable):
        await service.payments.cancel(Cancellation(merchant.id, payouts[1].transaction.id))

    total, listed = await service.queries.read_snapshot(
        lambda connection: transaction_list.page(
            connection,
            merchant.id,
            TransactionFilter(type=Type.DISBURSEMENT, search="ASHA", last=payouts[3].transaction.created_at),
            page=1,
            limit=3,
        )
    )
    assert (total, len(listed)) == (4, 3)
    found = await service.queries.read(
        lambda connection: transactions.get(connection, merchant.id, collections[0].transaction.reference)
    )
    assert found is not None
    assert (found.status, found.net_amount) == (Status.COMPLETED, 990)
    assert await database_facts.wallet(service.queries.database, merchant.id) == (10_000 + 990 - 2000 - 2000, 2000)
    desk = Desk(service.queries.database, merchant)
    for reference, decide in (("NMB-1", desk.approve), ("NMB-2", desk.reject)):
        assert (await desk.request(reference=reference)).proposal is not None
        await decide(reference)
    assert (await desk.available(), await desk.open()) == (6990 + LARGE, [])
    await database_facts.assert_clean(service.queries.database)

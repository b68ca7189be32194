"""Which schemas a version can serve, and which versions a schema still serves."""

from collections.abc import Callable

import pytest

from malipo.clock import now
from malipo.db import Database
from malipo.db.schema import (
    OLDEST_SCHEMA,
    AppliedMigration,
    Migration,
    MigrationEdited,
    Schema,
    SchemaTooNew,
    SchemaTooOld,
    check_served,
    migrations,
    read_schema,
)
from tests.conftest import Client, Running, until_ready
from tests.journeys.full_stack import until
from tests.journeys.operator_commands import malipo

KNOWN = [Migration(1, "first", "1"), Migration(2, "second", "2"), Migration(3, "third", "-- Serves: 0002\n3")]
NEWEST = migrations()[-1].number


def schema(*files: Migration) -> Schema:
    return Schema(
        {each.number: AppliedMigration(each.number, each.name, each.checksum, each.serves, now()) for each in files}
    )


@pytest.mark.parametrize(
    ("text", "serves"),
    [
        ("SELECT 1;", 16),
        ("-- Serves: 0014\nSELECT 1;", 14),
        ("-- What it is.\n-- Serves: 0014\nSELECT 1;", 14),
        ("-- Serves: 0099\nSELECT 1;", 16),
        ("-- Serves: 0014, nearly\nSELECT 1;", 16),
        ("SELECT '-- Serves: 0014';", 16),
    ],
)
def test_a_migration_serves_the_versions_that_it_names_or_only_its_own(text: str, serves: int) -> None:
    assert Migration(16, "new", text).serves == serves


@pytest.mark.parametrize(
    ("applied", "problem", "words"),
    [
        ([], SchemaTooOld, "no schema yet: run malipo migrate"),
        (KNOWN[:1], SchemaTooOld, "at migration 1, .* needs migration 2: run malipo migrate"),
        ([KNOWN[0], KNOWN[2]], SchemaTooOld, "needs migration 2"),
        ([*KNOWN, Migration(4, "drop", "4")], SchemaTooNew, "at migration 4 and no longer serves .* start the newer"),
        ([*KNOWN, Migration(4, "drop", "4"), Migration(5, "add", "-- Serves: 0002")], SchemaTooNew, "at migration 5"),
        ([KNOWN[0], Migration(2, "second", "edited")], MigrationEdited, "0002_second.sql was edited"),
    ],
    ids=["empty", "too old", "a gap", "too new", "too new below a later one", "edited"],
)
def test_a_schema_outside_the_span_is_refused_with_what_to_do(
    applied: list[Migration], problem: type[Exception], words: str
) -> None:
    with pytest.raises(problem, match=words):
        check_served(schema(*applied), KNOWN, oldest=2)


@pytest.mark.parametrize(
    "applied",
    [KNOWN[:2], KNOWN, [*KNOWN, Migration(4, "add", "-- Serves: 0003\n4"), Migration(5, "more", "-- Serves: 0002\n5")]],
    ids=["before the migration", "its own", "newer ones that serve it"],
)
def test_a_schema_within_the_span_is_served(applied: list[Migration]) -> None:
    check_served(schema(*applied), KNOWN, oldest=2)


async def test_the_database_keeps_which_versions_each_migration_serves(database: Database) -> None:
    async with database.read() as connection:
        found = await read_schema(connection)

    assert {each.number: each.serves for each in found.applied.values()} == {
        each.number: each.serves for each in migrations()
    }
    assert OLDEST_SCHEMA <= NEWEST


async def _apply_unknown(database: Database, *, serves: int | None, sql: str = "SELECT") -> None:
    """As a newer version migrates."""
    async with database.begin() as tx:
        await tx.execute(sql)
        await tx.execute(
            """
            INSERT INTO schema_migrations (number, name, checksum, serves) VALUES (9001, 'of_later', '', $1)
            ON CONFLICT (number) DO UPDATE SET serves = excluded.serves
            """,
            serves,
        )


async def test_an_api_process_goes_on_while_a_newer_schema_serves_it_and_is_503_when_it_does_not(
    api: Client, database: Database
) -> None:
    """Also in the moment before it has noticed: what breaks then is no 500."""
    await _apply_unknown(database, serves=NEWEST, sql="ALTER TABLE wallets ADD COLUMN colour text")
    assert [(await api("GET", path)).status for path in ("/readyz", "/v1/wallet")] == [200, 200]

    await _apply_unknown(database, serves=None, sql="ALTER TABLE wallets RENAME TO purses")
    refused = await api("GET", "/v1/wallet")
    assert (refused.status, refused.code) == (503, "unavailable")
    assert refused.body == {"error": "The service is being upgraded. Nothing was done; try again."}
    ready = await api("GET", "/readyz")
    assert (ready.status, ready.code) == (503, "not_ready")
    assert ready.body["error"].startswith("The database is at migration 9001 and no longer serves this version")
    others = ["/v1/payments", "/v1/events", "/dashboard/login", "/operator/login"]
    assert {await api.status("GET", path, headers={"x-api-key": str(api.key)}) for path in others} == {503}
    assert {(await api("POST", "/merchant/auth/login", {"email": "a@b.tz", "password": "x"})).status} == {503}
    assert (await api("GET", "/healthz")).status == 200

    async with database.begin() as tx:
        await tx.execute("ALTER TABLE purses RENAME TO wallets; DELETE FROM schema_migrations WHERE number = 9001")

    async def works() -> bool:
        return (await api("GET", "/v1/wallet")).status == 200

    await until(works, what="an API that works again")


async def test_a_process_that_starts_too_early_waits_for_the_migration_and_says_so(
    start: Callable[..., Running], database: Database, database_url: str
) -> None:
    async with database.begin() as tx:
        [row] = await tx.fetch("DELETE FROM schema_migrations WHERE number = $1 RETURNING *", OLDEST_SCHEMA)
    processes = [start(name, database_url=database_url, state_dir="none") for name in ("api", "worker")]
    reported = f"needs migration {OLDEST_SCHEMA}: run malipo migrate."

    async def have_told() -> bool:
        return all(reported in each.log.read_text() for each in processes)

    await until(have_told, what="a sentence in both logs")
    assert "worker.started" not in processes[1].log.read_text()
    command = await malipo("ledger", "check", database_url=database_url)
    assert (command.code, command.err.strip().endswith(reported)) == (1, True)
    async with database.begin() as tx:
        await tx.execute("INSERT INTO schema_migrations SELECT ($1::schema_migrations).*", tuple(row.values()))

    async def has_started() -> bool:
        return "worker.started" in processes[1].log.read_text()

    await until(has_started, what="a worker at work")
    await until_ready(processes[0])

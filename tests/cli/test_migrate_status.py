"""malipo migrate --status: what is applied, what is pending, and who can go on running. It changes nothing."""

import secrets

import pytest

from malipo import __version__
from malipo.db import Database
from malipo.db.schema import OLDEST_SCHEMA, migrations
from tests.conftest import _create
from tests.journeys.operator_commands import malipo

NEWEST = migrations()[-1].number
SERVES = max(each.serves for each in migrations())


async def test_the_status_of_a_schema_that_is_up_to_date_and_of_newer_ones(
    database: Database, database_url: str
) -> None:
    said = await malipo("migrate", "--status", database_url=database_url)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert [line[:4] for line in lines[:NEWEST]] == [f"{number:04}" for number in range(1, NEWEST + 1)]
    assert all("  applied 20" in line for line in lines[:NEWEST])
    assert lines[NEWEST + 1 :] == [
        f"Database:      at migration {NEWEST}.",
        f"This version:  malipo {__version__}, migration {NEWEST}; it runs on a schema from {OLDEST_SCHEMA} on, "
        "and on this one.",
        f"Running now:   versions of migration {SERVES} or later can run on this schema.",
    ]

    for serves, code in ((NEWEST, 0), (None, 1)):
        async with database.begin() as tx:
            await tx.execute("DELETE FROM schema_migrations WHERE number = 9001")
            await tx.execute(
                "INSERT INTO schema_migrations (number, name, checksum, serves) VALUES (9001, 'later', '', $1)", serves
            )
        said = await malipo("migrate", "--status", "--json", database_url=database_url)
        assert (said.code, said.err) == (code, "")
        assert (said.json["schema"], said.json["serves"]) == (9001, serves or 9001)
        assert (said.json["isServed"], said.json["pending"]) == (code == 0, [])
        assert (await malipo("migrate", database_url=database_url)).code == code, "nothing to do, or refused"


@pytest.mark.parametrize("last", [0, NEWEST - 1])
async def test_the_status_before_a_migration_says_who_must_stop(postgres: str, last: int) -> None:
    url = await _create(postgres, f"status_{secrets.token_hex(6)}")
    async with Database.opened(url, size=1) as database:
        if last:
            assert (await malipo("migrate", database_url=url)).code == 0
            async with database.begin() as tx:
                await tx.execute("DELETE FROM schema_migrations WHERE number > $1", last)
        said = await malipo("migrate", "--status", database_url=url)
        async with database.read() as connection:
            exists = await connection.fetchval("SELECT to_regclass('schema_migrations') IS NOT NULL")
    assert exists == bool(last), "it changes nothing"
    lines = said.out.splitlines()
    assert sum(line.endswith("  pending") for line in lines) == NEWEST - last
    if last:
        serves = max(each.serves for each in migrations())
        stop = "nothing needs to stop." if serves <= last else "stop the processes that run now before you migrate."
        assert f"After migrate: versions of migration {serves} or later can go on running; {stop}" in lines
        assert (said.code == 0) == (last >= OLDEST_SCHEMA)
    else:
        assert said.code == 1
        assert lines[-1] == "The database has no schema yet: run malipo migrate."

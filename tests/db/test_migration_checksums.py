"""An applied migration is never edited: by a list that is checked in, and by the database that has applied it."""

import hashlib
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from malipo.db import Database
from malipo.db.migrate import migrate
from malipo.db.schema import MigrationEdited, migrations
from tests.conftest import SECRET_KEY, _create
from tests.journeys.operator_commands import malipo

FOLDER = Path(__file__).parents[2] / "malipo/db/migrations"
LIST = Path(__file__).with_name("migrations.sha256")  # as sha256sum writes and reads it


@pytest.fixture
async def migrated_url(postgres: str) -> str:
    return await _create(postgres, f"migrated_{secrets.token_hex(6)}")


@pytest.fixture
async def migrated(migrated_url: str) -> AsyncIterator[Database]:
    async with Database.opened(migrated_url, size=2) as database:
        await migrate(database)
        yield database


def _checksums() -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(FOLDER.glob("*.sql"))}


def test_no_migration_was_edited() -> None:
    listed = {file: checksum for checksum, file in (line.split() for line in LIST.read_text().splitlines())}

    assert _checksums() == listed, (
        "Never edit an applied migration: add a new one, and its checksum to tests/db/migrations.sha256 "
        "(in malipo/db/migrations: sha256sum *.sql)."
    )


async def test_the_database_notes_the_checksum_of_each_file_that_it_applies(migrated: Database) -> None:
    async with migrated.read() as connection:
        rows = await connection.fetch("SELECT number, name, checksum FROM schema_migrations")

    assert {f"{row['number']:04}_{row['name']}.sql": row["checksum"] for row in rows} == _checksums()


@pytest.mark.parametrize("number", [1, migrations()[-1].number])
async def test_a_migration_that_was_edited_after_it_was_applied_is_refused_with_a_sentence(
    migrated: Database, migrated_url: str, number: int
) -> None:
    """As the database sees it: what it has applied had another checksum."""
    async with migrated.begin() as tx:
        await tx.execute("UPDATE schema_migrations SET checksum = $2 WHERE number = $1", number, "0" * 64)
    [file] = [each.file for each in migrations() if each.number == number]
    sentence = (
        f"The migration {file} was edited after this database had applied it: "
        "put its text back, and write what is to change into a new migration."
    )

    with pytest.raises(MigrationEdited, match=file):
        await migrate(migrated)
    for command in (["migrate"], ["serve"], ["ledger", "check"]):
        said = await malipo(*command, database_url=migrated_url, secret_key=SECRET_KEY)
        assert (said.code, said.err.strip().splitlines()[-1]) == (1, f"malipo: {sentence}")
        assert "Traceback" not in said.err


async def test_nothing_more_is_applied_once_an_earlier_migration_was_edited(migrated: Database) -> None:
    async with migrated.begin() as tx:
        await tx.execute("UPDATE schema_migrations SET checksum = $1 WHERE number = 1", "0" * 64)
        await tx.execute("DELETE FROM schema_migrations WHERE number = $1", migrations()[-1].number)

    with pytest.raises(MigrationEdited):
        await migrate(migrated)

    async with migrated.read() as connection:
        assert await connection.fetchval("SELECT max(number) FROM schema_migrations") == migrations()[-2].number


async def test_a_database_from_before_the_checksums_is_refused_with_a_sentence(
    migrated: Database, migrated_url: str
) -> None:
    async with migrated.begin() as tx:
        await tx.execute("ALTER TABLE schema_migrations DROP COLUMN checksum")
        await tx.execute("DELETE FROM schema_migrations WHERE number = $1", migrations()[-1].number)
    sentence = (
        "The database was migrated by an old development version of malipo, which cannot be upgraded: "
        "start with an empty database."
    )

    for command in (["migrate"], ["serve"], ["ledger", "check"]):
        said = await malipo(*command, database_url=migrated_url, secret_key=SECRET_KEY)
        assert (said.code, said.err.strip().splitlines()[-1]) == (1, f"malipo: {sentence}")
        assert "Traceback" not in said.err
    async with migrated.read() as connection:
        assert await connection.fetchval("SELECT max(number) FROM schema_migrations") == migrations()[-2].number

"""Numbered migrations, forward only, each applied once.

Several processes may start at the same moment. An advisory lock lets one of them migrate; the others wait, and then
find nothing to do. Each migration is one transaction, together with its row in schema_migrations.

The row has the checksum of the file. A file that was edited after it was applied describes a schema that no database
has, so it is refused.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from malipo import log
from malipo.db import Database, Tx
from malipo.errors import Impossible

# Any number that no other program uses on this database: "mali" in ASCII.
_LOCK = 0x6D616C69

_HAS_CHECKSUMS = """
    SELECT EXISTS (
        SELECT FROM pg_attribute
        WHERE attrelid = 'schema_migrations'::regclass AND attname = 'checksum' AND NOT attisdropped
    )
"""

_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")


@dataclass(frozen=True)
class Migration:
    number: int
    name: str
    sql: str

    @property
    def file(self) -> str:
        return f"{self.number:04}_{self.name}.sql"

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


class SchemaTooNew(Impossible):
    """The database was migrated by a newer malipo; this one must not touch it."""


class SchemaTooOld(Impossible):
    """The database was migrated by a development version, from before migrations had checksums."""


class MigrationEdited(Impossible):
    """A migration that this database has applied has another text now."""


def migrations() -> list[Migration]:
    folder = resources.files("malipo.db").joinpath("migrations")
    found = [
        Migration(int(match[1]), match[2], file.read_text())
        for file in folder.iterdir()
        if (match := _FILE.fullmatch(file.name))
    ]
    return sorted(found, key=lambda each: each.number)


async def migrate(database: Database) -> list[Migration]:
    """Apply the migrations that are missing; those that were applied."""
    applied = []
    known = migrations()
    for migration in known:
        async with database.begin() as tx:
            done = await _lock_and_read(tx)
            _require_same(known, done)
            if migration.number in done:
                continue
            await tx.execute("SET LOCAL lock_timeout = '10s'")
            await tx.execute(migration.sql)
            await tx.execute(
                "INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3)",
                migration.number,
                migration.name,
                migration.checksum,
            )
            applied.append(migration)
            log.info("migration.applied", number=migration.number, name=migration.name)
    return applied


def _require_same(known: Sequence[Migration], done: Mapping[int, str]) -> None:
    """Refuse a database whose migrations are not those of the files."""
    if max(done, default=0) > known[-1].number:
        raise SchemaTooNew("The database belongs to a newer malipo than this one. Start the newer one.")
    for each in known:
        if done.get(each.number, each.checksum) != each.checksum:
            raise MigrationEdited(
                f"The migration {each.file} was edited after this database had applied it: "
                "put its text back, and write what is to change into a new migration."
            )


async def pending(database: Database) -> int:
    """How many migrations are not applied yet."""
    async with database.read() as connection:
        if not await connection.fetchval("SELECT to_regclass('schema_migrations') IS NOT NULL"):
            return len(migrations())
        done = {row["number"] for row in await connection.fetch("SELECT number FROM schema_migrations")}
    return sum(1 for each in migrations() if each.number not in done)


async def _lock_and_read(tx: Tx) -> dict[int, str]:
    """The checksums of the applied migrations, by number."""
    await tx.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
    await tx.execute(
        """
        CREATE TABLE IF NOT EXISTS schema_migrations (
            number     integer PRIMARY KEY,
            name       text NOT NULL,
            checksum   text NOT NULL, -- SHA-256 of the file's text
            applied_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    if not await tx.fetchval(_HAS_CHECKSUMS):
        raise SchemaTooOld(
            "The database was migrated by an old development version of malipo, which cannot be upgraded: "
            "start with an empty database."
        )
    return {row["number"]: row["checksum"] for row in await tx.fetch("SELECT number, checksum FROM schema_migrations")}

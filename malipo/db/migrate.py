"""Numbered migrations, forward only, applied once, whoever starts first.

Several processes may start at the same moment: an advisory lock lets one of them work while the others wait
and then find nothing to do. Each migration is one transaction together with the note that it was applied.
"""

import re
from dataclasses import dataclass
from importlib import resources

from malipo import log
from malipo.db import Database, Tx
from malipo.errors import Impossible

# Any number that no other program uses on this database: "mali" in ASCII.
_LOCK = 0x6D616C69

_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")


@dataclass(frozen=True)
class Migration:
    number: int
    name: str
    sql: str


class SchemaTooNew(Impossible):
    """The database was migrated by a newer malipo; this one must not touch it."""


def migrations() -> list[Migration]:
    folder = resources.files("malipo.db").joinpath("migrations")
    found = [
        Migration(int(match[1]), match[2], file.read_text())
        for file in folder.iterdir()
        if (match := _FILE.fullmatch(file.name))
    ]
    return sorted(found, key=lambda each: each.number)


async def migrate(database: Database) -> list[Migration]:
    """Apply what is missing, and say what that was."""
    applied = []
    for migration in migrations():
        async with database.begin() as tx:
            done = await _lock_and_read(tx)
            if max(done, default=0) > migrations()[-1].number:
                raise SchemaTooNew("The database belongs to a newer malipo than this one. Start the newer one.")
            if migration.number in done:
                continue
            await tx.execute("SET LOCAL lock_timeout = '10s'")
            await tx.execute(migration.sql)
            await tx.execute(
                "INSERT INTO schema_migrations (number, name) VALUES ($1, $2)",
                migration.number,
                migration.name,
            )
            applied.append(migration)
            log.info("migration.applied", number=migration.number, name=migration.name)
    return applied


async def pending(database: Database) -> int:
    """How many migrations this database still waits for."""
    async with database.read() as connection:
        if not await connection.fetchval("SELECT to_regclass('schema_migrations') IS NOT NULL"):
            return len(migrations())
        done = {row["number"] for row in await connection.fetch("SELECT number FROM schema_migrations")}
    return sum(1 for each in migrations() if each.number not in done)


async def _lock_and_read(tx: Tx) -> set[int]:
    await tx.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
    await tx.execute(
        """
        CREATE TABLE IF NOT EXISTS schema_migrations (
            number     integer PRIMARY KEY,
            name       text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    return {row["number"] for row in await tx.fetch("SELECT number FROM schema_migrations")}

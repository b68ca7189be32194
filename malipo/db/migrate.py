"""Numbered migrations, forward only, each applied once.

Several processes may start at the same moment. An advisory lock lets one of them migrate; the others wait, and then
find nothing to do. Each migration is one transaction, together with its row in schema_migrations.

The row has the checksum of the file. A file that was edited after it was applied describes a schema that no database
has, so it is refused. It also has the oldest version that the schema still serves: see `schema.py`.

Only `malipo migrate`, `serve` and `demo` migrate. All other commands only read the schema.
"""

import asyncio

import asyncpg

from malipo import log
from malipo.db import Contention, Database, Tx
from malipo.db.schema import Migration, Schema, check_not_too_new, check_text, migrations, read_schema
from malipo.errors import Impossible

# Any number that no other program uses on this database: "mali" in ASCII.
_LOCK = 0x6D616C69

# Requests that come while a migration waits for a lock wait behind it. So the migration stops waiting soon, lets them
# pass, and tries again.
_LOCK_TIMEOUT = "2s"
_TRIES = 10
_PAUSE_SECONDS = 1.0


class TableInUse(Impossible):
    """A migration did not get the lock that it needs."""


async def migrate(database: Database) -> list[Migration]:
    """Apply the missing migrations, and return them."""
    return [each for each in migrations() if await _apply_in_turn(database, each)]


async def _apply_in_turn(database: Database, migration: Migration) -> bool:
    """Apply a migration under the lock. Returns whether it was missing."""
    for _ in range(_TRIES):
        try:
            async with database.begin() as tx:
                schema = await _lock_and_read(tx)
                check_not_too_new(schema, migrations())
                check_text(schema, migrations())
                if migration.number in schema.applied:
                    return False
                await _apply(tx, migration)
        except Contention as error:
            if isinstance(error.__cause__, asyncpg.FeatureNotSupportedError):
                raise  # It would be refused again.
            log.warning("migration.waits", number=migration.number, reason=str(error))
            await asyncio.sleep(_PAUSE_SECONDS)
        else:
            log.info("migration.applied", number=migration.number, name=migration.name)
            return True
    raise TableInUse(
        f"The migration {migration.file} did not get its lock in {_TRIES} tries, because others hold it for long. "
        "Nothing was changed by it: run malipo migrate again."
    )


async def _apply(tx: Tx, migration: Migration) -> None:
    await tx.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
    await tx.execute(migration.sql)
    await tx.execute(
        "INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3)",
        migration.number,
        migration.name,
        migration.checksum,
    )
    if migration.serves != migration.number:  # No file from before the column says so.
        await tx.execute(
            "UPDATE schema_migrations SET serves = $2 WHERE number = $1", migration.number, migration.serves
        )


async def _lock_and_read(tx: Tx) -> Schema:
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
    return await read_schema(tx)

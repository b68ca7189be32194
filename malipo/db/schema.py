"""The schema of a database, and whether this version of malipo can serve it.

A version knows the oldest schema that its statements run on. A schema knows the oldest version that it still serves,
by the rows of schema_migrations, which also an old version can read. So both sides of an upgrade can be checked: new
processes on a schema that is not migrated yet, and old processes on one that is.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from importlib import resources

import asyncpg

from malipo.db.database import Database
from malipo.db.transaction import Conn
from malipo.errors import Impossible

# The migration files of this version: their numbers, their text, and which versions can still run on each.
#
# A file may say in a comment of its own line `-- Serves: 0014`: processes of a version whose last migration is 14, or
# later, run on this schema too, so they need not stop while it is applied. Without that line it serves only versions
# that have the file themselves.


_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_SERVES = re.compile(r"^-- Serves: (\d{4})$", re.MULTILINE)


@dataclass(frozen=True)
class Migration:
    number: int
    name: str
    sql: str

    @property
    def file(self) -> str:
        return f"{self.number:04}_{self.name}.sql"

    @cached_property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @cached_property
    def serves(self) -> int:
        """The last migration of the oldest version that can still run when this one is applied."""
        found = _SERVES.search(self.sql)
        return min(int(found[1]), self.number) if found else self.number


@cache
def migrations() -> Sequence[Migration]:
    """The migrations in the order in which they are applied."""
    folder = resources.files("malipo.db").joinpath("migrations")
    found = [
        Migration(int(match[1]), match[2], file.read_text())
        for file in folder.iterdir()
        if (match := _FILE.fullmatch(file.name))
    ]
    return sorted(found, key=lambda each: each.number)


# The oldest schema that this version runs on. Raise it with the first statement that needs a later migration.
OLDEST_SCHEMA = 67

# The last migration of the oldest version that the schema serves, as a value for SQL. An older schema does not have the
# column yet.
SERVES = "(SELECT max(coalesce((to_jsonb(m) ->> 'serves')::integer, number)) FROM schema_migrations m)"

# Columns that an older schema does not have yet are null, and no error.
_APPLIED = """
    SELECT number, name, to_jsonb(m) ->> 'checksum' AS checksum,
           coalesce((to_jsonb(m) ->> 'serves')::integer, number) AS serves, applied_at
    FROM schema_migrations m ORDER BY number
"""


# A value for SQL that changes with every change of the schema's rows, for a tenth of the work of reading them.
FINGERPRINT = "(SELECT sum(hashtextextended(m::text, 0))::text FROM schema_migrations m)"


@dataclass(frozen=True, slots=True)
class AppliedMigration:
    """A migration that a database has applied, as it was then."""

    number: int
    name: str
    checksum: str
    serves: int
    applied_at: datetime


@dataclass(frozen=True, slots=True)
class Schema:
    applied: Mapping[int, AppliedMigration]

    @property
    def number(self) -> int:
        return max(self.applied, default=0)

    @property
    def serves(self) -> int:
        """The last migration of the oldest version that can run on it."""
        return max((each.serves for each in self.applied.values()), default=0)

    def pending(self, known: Sequence[Migration]) -> list[Migration]:
        return [each for each in known if each.number not in self.applied]


class SchemaTooNew(Impossible):
    """A newer version has migrated the database, and it no longer serves this one."""


class SchemaTooOld(Impossible):
    """The database waits for migrations that this version cannot do without."""


class MigrationEdited(Impossible):
    """The file of a migration that this database has applied was edited since."""


async def read_schema(connection: Conn) -> Schema:
    """Read the schema, which is empty for a new database. It needs no right but SELECT."""
    try:
        rows = await connection.fetch(_APPLIED)
    except asyncpg.UndefinedTableError:
        return Schema({})
    if any(row["checksum"] is None for row in rows):
        raise SchemaTooOld(
            "The database was migrated by an old development version of malipo, which cannot be upgraded: "
            "start with an empty database."
        )
    return Schema({row["number"]: AppliedMigration(*row.values()) for row in rows})


async def read_fingerprint(connection: Conn) -> str | None:
    """The fingerprint of the schema; None if there is no schema."""
    try:
        found: str | None = await connection.fetchval(f"SELECT {FINGERPRINT}")
    except asyncpg.UndefinedTableError:
        return None
    return found


def check_text(schema: Schema, known: Sequence[Migration]) -> None:
    """Refuse a database whose migrations are not those of the files."""
    for each in known:
        if each.number in schema.applied and schema.applied[each.number].checksum != each.checksum:
            raise MigrationEdited(
                f"The migration {each.file} was edited after this database had applied it: "
                "put its text back, and write what is to change into a new migration."
            )


def check_not_too_new(schema: Schema, known: Sequence[Migration]) -> None:
    if schema.serves > known[-1].number:
        raise SchemaTooNew(
            f"The database is at migration {schema.number} and no longer serves this version of malipo, which ends at "
            f"migration {known[-1].number}: start the newer version."
        )


def check_served(schema: Schema, known: Sequence[Migration], *, oldest: int = OLDEST_SCHEMA) -> None:
    """Raise if this version cannot serve the schema, with a sentence that says what to do."""
    check_not_too_new(schema, known)
    if not schema.applied:
        raise SchemaTooOld("The database has no schema yet: run malipo migrate.")
    if any(each.number <= oldest for each in schema.pending(known)):
        raise SchemaTooOld(
            f"The database is at migration {schema.number}, and this version of malipo needs migration {oldest}: "
            "run malipo migrate."
        )
    check_text(schema, known)


async def require_served(database: Database) -> None:
    """Refuse a database that this version cannot serve. For processes that do not migrate."""
    async with database.read() as connection:
        check_served(await read_schema(connection), migrations())

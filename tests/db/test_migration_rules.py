"""A migration declares which versions can keep running, and its statements agree with that."""

import pytest

from malipo.db.schema import Migration, migrations
from tests.db.migration_rules import why_breaking

FIRST = 15  # Those before were applied by everybody before there was a rule.
LATER = [each for each in migrations() if each.number >= FIRST]
# File → why the versions that it says it serves do not notice: what it takes away, and the release that stopped using it.
NOT_USED_ANY_MORE: dict[str, str] = {}

BREAKING = [
    "DROP TABLE tariffs;",
    "ALTER TABLE tariffs DROP COLUMN least;",
    "ALTER TABLE tariffs DROP least;",
    "ALTER TABLE tariffs RENAME COLUMN least TO minimum;",
    "ALTER TABLE tariffs RENAME TO fees;",
    "ALTER TABLE tariffs ALTER COLUMN least TYPE numeric;",
    "ALTER TABLE tariffs ALTER least SET DATA TYPE numeric;",
    "ALTER TABLE tariffs ALTER COLUMN least SET NOT NULL;",
    "ALTER TABLE tariffs ALTER COLUMN least DROP DEFAULT;",
    "ALTER TABLE tariffs ADD COLUMN colour text NOT NULL;",
    "ALTER TABLE tariffs\n    ADD COLUMN size integer NOT NULL DEFAULT 0,\n    ADD COLUMN colour text NOT NULL;",
    "CREATE INDEX transactions_colour ON transactions (colour);",
    "CREATE UNIQUE INDEX moves_colour ON moves (colour) WHERE colour IS NOT NULL;",
    "ALTER TABLE moves ADD CONSTRAINT moves_colour CHECK (colour <> 'red');",
    "LOCK TABLE wallets;",
    "SELECT 1; TRUNCATE events;",
    "REVOKE UPDATE ON wallets FROM malipo_app;",
]
EXPANDING = [
    "ALTER TABLE tariffs ADD COLUMN colour text;",
    "ALTER TABLE tariffs ADD COLUMN colour text NOT NULL DEFAULT 'red';",
    "ALTER TABLE tariffs ALTER COLUMN least DROP NOT NULL;",
    "CREATE TABLE colours (name text NOT NULL); CREATE INDEX colours_name ON colours (name);",
    "CREATE TABLE colours (a text); ALTER TABLE colours RENAME COLUMN a TO name;",
    "CREATE INDEX IF NOT EXISTS transactions_colour ON transactions (colour);",
    "CREATE INDEX operators_colour ON operators (colour);",
    "ALTER TABLE moves ADD CONSTRAINT moves_colour CHECK (colour <> 'red') NOT VALID;",
    "-- DROP TABLE tariffs;\nSELECT 'ALTER TABLE tariffs RENAME TO fees;';",
    "INSERT INTO colours SELECT name FROM tariffs;",
]


@pytest.mark.parametrize("migration", LATER, ids=lambda each: each.file)
def test_a_migration_says_which_versions_it_serves_and_only_its_own_if_it_takes_something_away(
    migration: Migration,
) -> None:
    assert "-- Serves: " in migration.sql, (
        f"{migration.file} must say which versions can go on running: `-- Serves: {migration.number - 1:04}` if it only "
        f"expands, `-- Serves: {migration.number:04}` if not. See docs/operating/upgrading.md."
    )
    if (why := why_breaking(migration.sql)) and migration.file not in NOT_USED_ANY_MORE:
        assert migration.serves == migration.number, why


@pytest.mark.parametrize("sql", BREAKING)
def test_what_older_processes_cannot_live_with_is_found(sql: str) -> None:
    assert why_breaking(sql)


@pytest.mark.parametrize("sql", EXPANDING)
def test_what_they_do_not_notice_is_let_through(sql: str) -> None:
    assert why_breaking(sql) == []

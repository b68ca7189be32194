"""Layouts and files from before migration 41 have the authors that the audit log names."""

import secrets
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from malipo import clock
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.db.schema import migrations
from malipo.network_statements.profile import LayoutOperators
from malipo.reconciliation.statements.choose_profile import encode, find_profile
from malipo.reconciliation.statements.statement_file import LayoutAuthor, LayoutChoice
from malipo.reconciliation.statements.store import statements
from tests.conftest import _create
from tests.reconciliation.test_layout_authors import layout

BEFORE = next(each.number for each in migrations() if each.name == "authors_of_layouts") - 1
ASHA, JUMA, NEEMA = (Actor(f"operator {name}", "till") for name in ("asha", "juma", "neema"))


@pytest.fixture
async def before(postgres: str) -> AsyncIterator[Database]:
    """As it was: asha has saved a layout, juma and then neema said words of it, and juma has imported a file."""
    database = Database(await _create(postgres, f"authors_{secrets.token_hex(6)}"), size=2)
    await database.open()
    async with database.begin() as tx:
        await tx.execute("CREATE TABLE schema_migrations (number integer, name text, checksum text)")
        for each in migrations():
            if each.number <= BEFORE:
                await tx.execute(each.sql)
        now = clock.now()
        await audit_log.append(tx, ASHA, "statement_profile.saved", now=now, name="till")
        said: list[tuple[Actor, list[str], list[str]]] = [(JUMA, ["Sorted", "Bado"], []), (NEEMA, ["sorted"], ["Nope"])]
        for number, (by, moved, not_moved) in enumerate(said, 1):
            how: dict[str, Any] = {"name": "till", "moved": moved, "not_moved": not_moved}
            at = now + timedelta(seconds=number)
            await audit_log.append(tx, by, "statement_profile.words", now=at, **how)
        profile = layout("till", completed=("Completed", "Bado", "sorted"), failed=("Failed", "Nope"))
        text = encode(profile)
        sql = "INSERT INTO statement_profiles (name, text, saved_by, saved_at) VALUES ('till', $1, $2, $3)"
        await tx.execute(sql, text, NEEMA.name, now)
        for file_id, importer in (("stf_1", JUMA.name), ("stf_2", "malipo")):
            await tx.execute(
                """
                INSERT INTO statement_files (id, channel, account, sha256, name, profile, line_count, new_count, problems,
                    imported_by, imported_at) VALUES ($1, 'MPESA', '', $2, 'a.csv', 'till', 0, 0, '{}', $3, $4)
                """,
                file_id,
                file_id.encode(),
                importer,
                now,
            )
    yield database
    await database.close()


async def test_who_said_what_is_known_after_the_upgrade(before: Database) -> None:
    async with before.begin() as tx:
        for each in migrations():
            if each.number > BEFORE:
                await tx.execute(each.sql)
    async with before.read() as connection:
        profile = await find_profile(connection, "till")
        file, fetched = [await statements.get(connection, each) for each in ("stf_1", "stf_2")]
    words = {"bado": JUMA.name, "sorted": NEEMA.name, "nope": NEEMA.name}
    assert profile.said_by == LayoutOperators(columns=ASHA.name, words=words)
    assert file is not None
    assert set(file.authors) == {
        LayoutAuthor(by=ASHA.name, said=LayoutChoice.COLUMNS),
        LayoutAuthor(by=NEEMA.name, said=LayoutChoice.MOVED, word="sorted"),
        LayoutAuthor(by=NEEMA.name, said=LayoutChoice.NOT_MOVED, word="Nope"),
    }
    assert fetched is not None
    assert fetched.authors == ()

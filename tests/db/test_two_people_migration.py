"""What the migrations about merchants' two people make of what is there: links that are open, and keys that may approve."""

import secrets
from collections.abc import AsyncIterator

import pytest

from malipo.db import Database
from malipo.db.schema import migrations
from malipo.merchants.api_keys import Permission
from tests.conftest import _create

BEFORE = next(each.number for each in migrations() if each.name == "vouching_for_people") - 1
ALL = [each.value for each in Permission]


@pytest.fixture
async def before(postgres: str) -> AsyncIterator[Database]:
    """As it was, with a merchant and its owner."""
    database = Database(await _create(postgres, f"two_people_{secrets.token_hex(6)}"), size=2)
    await database.open()
    async with database.begin() as tx:
        await tx.execute("CREATE TABLE schema_migrations (number integer, name text, checksum text)")
        for each in migrations():
            if each.number <= BEFORE:
                await tx.execute(each.sql)
        await tx.execute("INSERT INTO merchants (id, name, created_at) VALUES ('mer_1', 'Duka', now())")
        await tx.execute(
            """
            INSERT INTO people (id, merchant_id, email, name, role, password_hash, created_at) VALUES
            ('per_1', 'mer_1', 'asha@duka.example', '', 'owner', 'hash', now()),
            ('per_2', 'mer_1', 'juma@duka.example', '', 'owner', NULL, now()),
            ('per_3', 'mer_1', 'neema@duka.example', '', 'owner', 'hash', now())
            """
        )
    yield database
    await database.close()


async def _migrate(database: Database) -> None:
    async with database.begin() as tx:
        for each in migrations():
            if each.number > BEFORE:
                await tx.execute(each.sql)


async def test_people_with_a_link_of_the_last_72_hours_wait(before: Database) -> None:
    async with before.begin() as tx:
        await tx.execute(
            """
            INSERT INTO sessions (id, person_id, created_at, last_used_at, confirmed_at, expires_at, address, user_agent)
            VALUES ('ses_1', 'per_1', now(), now(), now(), now(), '', '')
            """
        )
        await tx.execute(
            """
            INSERT INTO password_links
                (hash, person_id, created_at, expires_at, made_by_person, made_in_session, made_by_operator) VALUES
            ('\\x01', 'per_2', now() - interval '1 hour', now(), 'per_1', 'ses_1', NULL),
            ('\\x02', 'per_3', now() - interval '71 hours', now(), NULL, NULL, 'operator juma'),
            ('\\x03', 'per_1', now() - interval '73 hours', now(), NULL, NULL, 'operator juma')
            """
        )
    await _migrate(before)
    async with before.read() as connection:
        rows = await connection.fetch("SELECT email, merchant_id, reset_by FROM credential_resets ORDER BY email")
    assert [tuple(row) for row in rows] == [
        ("juma@duka.example", "mer_1", "asha@duka.example"),
        ("neema@duka.example", "mer_1", "operator juma"),
    ]


@pytest.mark.parametrize(
    ("created_by", "permissions", "keeps"),
    [
        ("operator juma", ALL, False),
        ("user root", ALL, False),
        (None, ALL, False),
        ("asha@duka.example", ALL, True),
        ("operator juma", ["payments.read", "payouts.approve"], True),
    ],
)
async def test_a_key_that_may_have_been_made_without_permissions_approves_no_more(
    before: Database, created_by: str | None, permissions: list[str], keeps: bool
) -> None:
    async with before.begin() as tx:
        await tx.execute(
            """
            INSERT INTO api_keys (id, merchant_id, name, hash, prefix, last4, environment, permissions, ip_allowlist,
                                  created_at, created_by)
            VALUES ('key_1', 'mer_1', '', '\\x01', 'mlp_live_', 'abcd', 'live', $1, '{}', now(), $2)
            """,
            permissions,
            created_by,
        )
    await _migrate(before)
    async with before.read() as connection:
        kept = await connection.fetchval("SELECT permissions FROM api_keys")
    assert ("payouts.approve" in kept) is keeps
    assert set(kept) | {"payouts.approve"} == set(permissions), "nothing else has gone"

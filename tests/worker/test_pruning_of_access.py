"""Old log-ins are forgotten after 90 days, and nothing that still counts."""

import secrets

import pytest

from malipo import clock
from malipo.accounts.store import pruning
from malipo.app.assemble import Service
from malipo.audit_log import store as audit_log
from malipo.db import Database
from malipo.worker.pruner import prune
from tests.conftest import make_merchant
from tests.dashboard.page_client import add_person

# Table, when its rows are old, and when they are not yet: how long ago each of its times is.
ROWS = """
INSERT INTO login_attempts (subject, attempted_at) VALUES ('{tag} old', now() - interval '25 hours'), ('{tag} new', now());
INSERT INTO sessions (id, person_id, created_at, last_used_at, confirmed_at, expires_at, ended_at, address, user_agent)
VALUES ('{tag} expired', '{person}', now(), now(), now(), now() - interval '91 days', NULL, '', ''),
       ('{tag} ended', '{person}', now(), now(), now(), now(), now() - interval '91 days', '', ''),
       ('{tag} kept', '{person}', now(), now(), now(), now() - interval '89 days', now() - interval '89 days', '', '');
INSERT INTO refresh_tokens (hash, session_id, created_at)
VALUES ('{tag} 1', '{tag} expired', now()), ('{tag} 2', '{tag} kept', now());
INSERT INTO password_links (hash, person_id, created_at, expires_at, made_by_operator)
VALUES ('{tag} old', '{person}', now(), now() - interval '91 days', 'x'),
       ('{tag} new', '{person}', now(), now() - interval '89 days', 'x');
INSERT INTO operators (id, name, created_at) VALUES ('{tag}', '{tag}', now());
INSERT INTO operator_sessions (id, operator_id, created_at, last_used_at, confirmed_at, expires_at, ended_at, address)
VALUES ('{tag} expired', '{tag}', now(), now(), now(), now() - interval '91 days', NULL, ''),
       ('{tag} ended', '{tag}', now(), now(), now(), now(), now() - interval '91 days', ''),
       ('{tag} kept', '{tag}', now(), now(), now(), now() - interval '89 days', now() - interval '89 days', '');
INSERT INTO known_browsers (id, operator_id, hash, first_seen_at, last_seen_at, user_agent, address)
VALUES ('{tag} old', '{tag}', '1', now(), now() - interval '91 days', '', ''),
       ('{tag} new', '{tag}', '2', now(), now() - interval '89 days', '', '');
INSERT INTO new_place_alerts (session_id, account_id, created_at, address, user_agent, read_at)
VALUES ('{tag} read', '{person}', now() - interval '91 days', '', '', now() - interval '1 day'),
       ('{tag} unread', '{person}', now() - interval '91 days', '', '', NULL),
       ('{tag} shown', '{person}', now() - interval '89 days', '', '', NULL);
"""
LEFT = {
    "SELECT subject FROM login_attempts WHERE subject LIKE $1": ["new"],
    "SELECT id FROM sessions WHERE id LIKE $1": ["kept"],
    "SELECT convert_from(hash, 'UTF8') FROM refresh_tokens WHERE convert_from(hash, 'UTF8') LIKE $1": ["2"],
    "SELECT convert_from(hash, 'UTF8') FROM password_links WHERE convert_from(hash, 'UTF8') LIKE $1": ["new"],
    "SELECT id FROM operator_sessions WHERE id LIKE $1": ["kept"],
    "SELECT id FROM known_browsers WHERE id LIKE $1": ["new"],
    "SELECT session_id FROM new_place_alerts WHERE session_id LIKE $1": ["shown"],
}
TABLES = 6  # that something is deleted from


async def left(database: Database, tag: str) -> dict[str, list[str]]:
    async with database.read() as connection:
        return {
            query: [row[0].removeprefix(f"{tag} ") for row in await connection.fetch(query, f"{tag} %")]
            for query in LEFT
        }


@pytest.fixture
async def tag(database: Database) -> str:
    """What all the rows begin with."""
    merchant, tag = await make_merchant(database), f"tag{secrets.token_hex(4)}"
    person = await add_person(database, merchant.id, f"{tag}@example.com")
    async with database.begin() as tx:
        await tx.execute(ROWS.format(tag=tag, person=person.id))
    return tag


async def test_what_is_old_goes_and_the_rest_stays(database: Database, tag: str) -> None:
    async with database.begin() as tx:
        assert await pruning.prune(tx, now=clock.now(), most=1) == TABLES, "no more of a table than was said"
    gone = 1
    while gone:
        async with database.begin() as tx:
            gone = await pruning.prune(tx, now=clock.now(), most=1)
    assert await left(database, tag) == LEFT


async def test_the_worker_does_it_and_writes_down_the_log_ins_that_were_only_counted(
    service: Service, database: Database, tag: str
) -> None:
    async with database.begin() as tx:
        await tx.execute(
            "INSERT INTO failed_logins (account, hour, name, failures, throttled) "
            "VALUES ($1, now() - interval '2 hours', $1, 0, 7)",
            tag,
        )
    await prune(service.queries.database, service.settings, service.clock)
    assert await left(database, tag) == LEFT
    async with database.read() as connection:
        assert [each.action for each in await audit_log.find(connection, limit=10) if each.actor == tag] == [
            "login.failed_often"
        ]

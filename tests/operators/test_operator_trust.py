"""A new password or a changed second factor ends the trust in an operator's browsers."""

import secrets
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from malipo import clock, ids
from malipo.accounts.second_factor import pending_login
from malipo.accounts.store import browsers, trusted_browsers
from malipo.db import Database, Tx
from malipo.operators import login, second_factor, store
from malipo.operators.store import Operator
from tests.authenticator_app import enrolled
from tests.conftest import NOBODY

BROWSER = b"what the cookie of a browser hashes to"


@pytest.fixture
async def asha(database: Database) -> Operator:
    """With a second factor, a trusted browser, and a log-in that waits for a code."""
    now, name = clock.now(), f"asha.{secrets.token_hex(4)}"
    asha = Operator(ids.mint("opr_", now), name, None)
    async with database.begin() as tx:
        await store.insert_operator(tx, asha.id, name, now=now)
        await browsers.remember(
            tx, "operator_id", asha.id, before=None, after=BROWSER, address="", user_agent="", now=now
        )
        assert await trusted_browsers.trust(tx, asha.id, BROWSER, until=now + timedelta(days=30))
        await pending_login.begin(tx, asha.id, now=now)
    await enrolled(database, asha.id)
    return asha


async def _set_password(tx: Tx, asha: Operator) -> None:
    await login.set_password(tx, asha.name, "x", actor=NOBODY, now=clock.now())


async def _change(tx: Tx, asha: Operator) -> None:
    await second_factor.changed(tx, asha, "ops_of_this_browser", now=clock.now())


async def _reset(tx: Tx, asha: Operator) -> None:
    await login.reset_second_factor(tx, asha.name, actor=NOBODY, now=clock.now())


@pytest.mark.parametrize(
    ("act", "is_known"),
    [(_set_password, False), (_change, True), (_reset, True)],
    ids=["a new password", "a change of the second factor", "its reset"],
)
async def test_trust_ends_and_so_does_what_waits_for_a_code(
    database: Database, asha: Operator, act: Callable[[Tx, Operator], Awaitable[None]], is_known: bool
) -> None:
    async with database.begin() as tx:
        await act(tx, asha)
    async with database.read() as connection:
        assert not await trusted_browsers.is_trusted(connection, asha.id, BROWSER, now=clock.now())
        assert await browsers.is_known(connection, "operator_id", asha.id, BROWSER) is is_known
        waiting = await connection.fetchval("SELECT count(*) FROM pending_logins WHERE account_id = $1", asha.id)
    assert waiting == 0

"""A request whose head came before its sender lost the right to it, and its body after that, is refused."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from malipo import clock, ids
from malipo.app.assemble import Service
from malipo.dashboard import cookies
from malipo.db import Database
from malipo.http_server.app import WebApplication
from malipo.operators import store as operator_sessions
from tests.api.hostile.case import DISBURSE, encoded
from tests.api.http.connections import Line, serving
from tests.api.http.test_sites import FORM, logged_in
from tests.api.raw_http import RawAnswer, request
from tests.conftest import PAYOUT, Merchant

KEY_FORM = "name=after+the+end&permissions=payments.create&environment=live"


@pytest.fixture
async def line(service: Service) -> AsyncIterator[Line]:
    async with serving(WebApplication(service, most_pages=3)) as place:
        yield await place.call()


async def _ask_around(line: Line, database: Database, sent: bytes, *revocation: str) -> RawAnswer:
    """All but the last byte, then the revocation, then that byte."""
    await line.say(sent[:-1])
    assert await line.is_silent()
    async with database.begin() as tx:
        await tx.execute(*revocation)
    await line.say(sent[-1:])
    return await line.read_answer()


async def test_a_key_that_is_revoked_while_its_body_is_withheld_pays_nothing(
    line: Line, database: Database, merchant: Merchant
) -> None:
    sent = request("POST", DISBURSE, encoded(PAYOUT), key=merchant.key)
    revocation = "UPDATE api_keys SET revoked_at = now() WHERE merchant_id = $1"
    answer = await _ask_around(line, database, sent, revocation, merchant.id)

    assert answer.status == 401
    async with database.read() as connection:
        assert await connection.fetchval("SELECT count(*) FROM transactions WHERE merchant_id = $1", merchant.id) == 0


@pytest.mark.parametrize(
    ("revocation", "status"),
    [
        ("UPDATE sessions SET ended_at = now() FROM people p WHERE p.id = person_id AND p.merchant_id = $1", 303),
        ("UPDATE people SET role = 'viewer' WHERE merchant_id = $1", 403),
    ],
    ids=["ended", "demoted"],
)
async def test_a_person_who_withholds_a_form_makes_no_key_with_rights_that_have_ended(
    line: Line, service: Service, database: Database, merchant: Merchant, revocation: str, status: int
) -> None:
    cookie = await logged_in(service, database, merchant)
    async with database.read() as connection:
        session_id = await connection.fetchval(
            "SELECT s.id FROM sessions s JOIN people p ON p.id = s.person_id WHERE p.merchant_id = $1", merchant.id
        )
    form = f"token={service.accounts.cookies.form_token(session_id)}&{KEY_FORM}".encode()
    sent = request("POST", "/dashboard/keys", form, headers=(*FORM, cookie))
    answer = await _ask_around(line, database, sent, revocation, merchant.id)

    assert answer.status == status
    async with database.read() as connection:
        made = "SELECT count(*) FROM api_keys WHERE merchant_id = $1 AND name = 'after the end'"
        assert await connection.fetchval(made, merchant.id) == 0


async def test_an_operator_who_withholds_a_form_does_nothing_in_a_session_that_has_ended(
    line: Line, service: Service, database: Database
) -> None:
    now = clock.now()
    operator_id, session_id = ids.mint("opr_", now), ids.mint("ops_", now)
    async with database.begin() as tx:
        await operator_sessions.insert_operator(tx, operator_id, operator_id, now=now)
        ends = now + timedelta(hours=1)
        await operator_sessions.insert(
            tx, session_id, operator_id, now=now, confirmed_at=now, expires_at=ends, address=""
        )
    form = f"token={service.accounts.cookies.form_token(session_id)}".encode()
    cookie = f"cookie: {cookies.OPERATOR.name}={service.accounts.cookies.make(session_id)}".encode()
    sent = request("POST", "/operator/ledger", form, headers=(*FORM, cookie))
    revocation = "UPDATE operator_sessions SET ended_at = now() WHERE operator_id = $1"
    answer = await _ask_around(line, database, sent, revocation, operator_id)

    assert answer.headers.get("location", "").startswith("/operator/login")

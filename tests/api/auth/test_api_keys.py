"""Authentication by API key: valid, expired, revoked and unknown keys."""

import asyncio
import base64
import hashlib
from datetime import timedelta

import pytest

from malipo import clock
from malipo.db import Database
from malipo.merchants.api_keys import Environment
from tests.api.auth.routes import call, make_key, revoke
from tests.api.conftest import created, is_refused, total
from tests.api.raw_http import exchange, request
from tests.conftest import COLLECTION, PAYOUT, Client, Merchant, Running


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/wallet"), ("POST", "/v1/payments")])
async def test_without_a_good_key_nobody_gets_in(
    api: Client, database: Database, merchant: Merchant, method: str, path: str
) -> None:
    """That it is so on every route is in the table of `tests/api/test_authorisation.py`."""
    good = merchant.key
    expired = await make_key(database, merchant, expires_at=clock.now() - timedelta(seconds=1))
    revoked = await make_key(database, merchant)
    await revoke(database, revoked)
    bad = [None, "", "x", "mlp_live_" + "0" * 40, good[:-1], good + "0", good.upper(), f"Bearer {good}"]

    for key in (*bad, expired.text, revoked.text):
        assert is_refused(await call(api.as_(key), method, path), 401, "invalid_api_key"), key
    assert await total(api) == 0


@pytest.mark.parametrize("sent_as", ["Bearer {}", "bearer {}", "{}", "Basic {}", "Bearer mlp_live_unknown"])
async def test_a_key_in_authorization_is_refused_with_the_header_where_it_belongs(
    api: Client, merchant: Merchant, sent_as: str
) -> None:
    headers = {"Authorization": sent_as.format(merchant.key)}

    refused = await api.as_(None)("GET", "/v1/wallet", headers=headers)
    of_people = await api.as_(None)("GET", "/merchant/webhooks", headers=headers)

    assert is_refused(refused, 401, "invalid_api_key")
    assert "in the header x-api-key" in refused.body["error"]
    assert is_refused(of_people, 401, "invalid_token")
    assert "opens only /v1" in of_people.body["error"]
    assert merchant.key not in str(refused.body) + str(of_people.body)


async def test_a_key_is_good_until_the_moment_it_expires(api: Client, database: Database, merchant: Merchant) -> None:
    soon = await make_key(database, merchant, expires_at=clock.now() + timedelta(seconds=1.5))
    client = api.as_(soon.text)

    before = await client("GET", "/v1/wallet")
    await asyncio.sleep(1.6)
    after = await client("GET", "/v1/wallet")

    assert before.status == 200
    assert is_refused(after, 401, "invalid_api_key")


async def test_a_key_is_revoked_at_once(api: Client, database: Database, merchant: Merchant) -> None:
    key = await make_key(database, merchant)
    client = api.as_(key.text)
    assert (await client("GET", "/v1/wallet")).status == 200

    await revoke(database, key)

    assert is_refused(await client("GET", "/v1/wallet"), 401, "invalid_api_key")


@pytest.mark.parametrize("environment", list(Environment))
async def test_live_and_test_keys_both_move_real_money(
    api: Client, database: Database, merchant: Merchant, environment: Environment
) -> None:
    key = await make_key(database, merchant, environment=environment)

    assert key.text.startswith(f"mlp_{environment}_")
    assert (await created(api.as_(key.text), PAYOUT))["amount"] == 1000
    assert await total(api) == 1


@pytest.mark.parametrize("how", ["authorization: Bearer {}", "authorization: {}", "cookie: x-api-key={}"])
async def test_a_key_opens_only_from_its_own_header(running: Running, merchant: Merchant, how: str) -> None:
    header = how.format(merchant.key).encode()

    in_header = exchange(running.url, request("GET", "/v1/wallet", headers=(header,)))
    in_query = exchange(running.url, request("GET", f"/v1/wallet?x-api-key={merchant.key}", headers=(header,)))

    assert in_header.status == in_query.status == 401


async def test_the_text_of_a_key_stands_in_no_table_and_no_log(
    api: Client, running: Running, database: Database, merchant: Merchant
) -> None:
    await created(api, COLLECTION)
    await api("GET", f"/v1/payments/{merchant.key}")
    await api("GET", f"/nowhere/{merchant.key}?x-api-key={merchant.key}")
    secret = merchant.key.encode()
    forms = [merchant.key, merchant.key[-40:], secret.hex(), base64.b64encode(secret).decode()]

    async with database.read() as connection:
        tables = [
            row["tablename"] for row in await connection.fetch("SELECT * FROM pg_tables WHERE schemaname = 'public'")
        ]
        for table in tables:
            for form in forms:
                query = f'SELECT count(*) FROM "{table}" AS each WHERE strpos(each::text, $1) > 0'
                assert await connection.fetchval(query, form) == 0, table
        hashed = await connection.fetchval("SELECT hash FROM api_keys WHERE merchant_id = $1", merchant.id)

    assert "api_keys" in tables
    assert hashed == hashlib.sha256(secret).digest()
    log = running.log.read_text()
    assert '"event":"request"' in log
    assert merchant.key[-40:] not in log


async def test_the_use_of_a_key_is_noted(api: Client, database: Database, merchant: Merchant) -> None:
    before = clock.now()

    await api("GET", "/v1/wallet")

    async with database.read() as connection:
        noted = await connection.fetchval("SELECT last_used_at FROM api_keys WHERE merchant_id = $1", merchant.id)
    assert before <= noted <= clock.now()

"""Idempotency-Key: a request that was refused does not use its key up, and which keys are refused."""

import asyncio
from typing import Any

import aiohttp
import pytest

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.merchants.api_keys import Permission
from malipo.payments.transaction import Status
from tests.api.conftest import FLEET_LIMITS, bring, total, wallet
from tests.api.idempotency import BOTH, another_key, is_first, is_replay_of, post
from tests.conftest import COLLECTION, PAYOUT, Client, Merchant, Running


@BOTH
async def test_a_request_with_wrong_fields_does_not_use_its_key_up(
    api: Client, route: str, body: dict[str, Any]
) -> None:
    wrong = await post(api, route, body | {"amount": 499})
    right = await post(api, route, body)

    assert wrong.code == "amount_too_small"
    assert is_first(right)


async def test_a_payout_beyond_the_wallet_does_not_use_its_key_up(
    api: Client, database: Database, merchant: Merchant
) -> None:
    wrong = await post(api, "/v1/payments/disburse", PAYOUT | {"amount": 1_000_001})
    async with database.read() as connection:
        kept = await connection.fetchval("SELECT count(*) FROM idempotency_keys WHERE merchant_id = $1", merchant.id)
    right = await post(api, "/v1/payments/disburse", PAYOUT)

    assert wrong.code == "insufficient_balance"
    assert kept == 0
    assert is_first(right)
    assert is_replay_of(await post(api, "/v1/payments/disburse", PAYOUT), right)


async def test_a_key_that_a_refused_payout_leaves_is_free_for_one_that_came_with_it(
    api: Client, database: Database, merchant: Merchant
) -> None:
    """Both wait for the wallet, and are decided together."""
    collection = await post(api, "/v1/payments", COLLECTION)
    async with database.begin() as tx:
        await tx.execute("SELECT FROM wallets WHERE merchant_id = $1 FOR UPDATE", merchant.id)
        first = asyncio.create_task(api("POST", "/v1/payments/disburse", PAYOUT))
        await asyncio.sleep(0.2)
        wrong = asyncio.create_task(post(api, "/v1/payments/disburse", PAYOUT | {"amount": 1_000_001}))
        await asyncio.sleep(0.1)
        right = asyncio.create_task(post(api, "/v1/payments/disburse", PAYOUT))
        await asyncio.sleep(0.2)

    assert (await first).status == 201
    assert (await wrong).code == "insufficient_balance"
    assert is_first(await right)
    assert is_replay_of(await post(api, "/v1/payments/disburse", PAYOUT), await right)
    assert is_replay_of(await post(api, "/v1/payments", COLLECTION), collection)
    assert await wallet(api) == (998_000, 2_000)


async def test_a_payout_beyond_the_wallet_is_taken_under_its_key_once_there_is_money(
    api: Client, service: Service, merchant: Merchant
) -> None:
    body = PAYOUT | {"amount": 1_000_500}
    assert (await post(api, "/v1/payments/disburse", body)).code == "insufficient_balance"
    sale = await post(api, "/v1/payments", COLLECTION)
    await bring(service, merchant, sale.body["transaction"]["id"], Status.COMPLETED)

    assert is_first(await post(api, "/v1/payments/disburse", body))
    assert await wallet(api) == (500, 1_000_500)


async def test_a_forbidden_request_does_not_use_its_key_up(api: Client, database: Database, merchant: Merchant) -> None:
    reader = api.as_(await another_key(database, merchant, (Permission.PAYMENTS_READ,)))

    wrong = await post(reader, "/v1/payments", COLLECTION)

    assert wrong.status == 403
    assert is_first(await post(api, "/v1/payments", COLLECTION))


async def test_a_request_over_the_rate_limit_does_not_use_its_key_up(
    api: Client, http: aiohttp.ClientSession, fleet: list[Running], merchant: Merchant
) -> None:
    limited = Client(http, fleet[0].url, merchant.key)
    for _ in range(FLEET_LIMITS["rate_limit_create"]):
        assert (await limited("POST", "/v1/payments", COLLECTION)).status == 201

    wrong = await post(limited, "/v1/payments", COLLECTION)

    assert wrong.status == 429
    assert is_first(await post(api, "/v1/payments", COLLECTION))


@pytest.mark.parametrize(
    "key", ["", "two words", "tab\there", "x" * 256, "kü", "ключ", "🔑"], ids=lambda key: repr(key[:12])
)
@BOTH
async def test_a_key_that_is_not_1_to_255_visible_ascii_characters_is_refused(
    api: Client, route: str, body: dict[str, Any], key: str
) -> None:
    answer = await post(api, route, body, key=key)

    assert answer.status == 400
    assert answer.code == "idempotency_key_invalid"
    assert list(answer.body["details"]) == ["Idempotency-Key"]
    assert await total(api) == 0


@pytest.mark.parametrize(
    "key", ["x", "y" * 255, "".join(map(chr, range(33, 127))), "a,b", '"quoted"', "%00", "';--"],
    ids=lambda key: repr(key[:12]),
)  # fmt: skip
@BOTH
async def test_a_key_of_1_to_255_visible_ascii_characters_is_taken(
    api: Client, route: str, body: dict[str, Any], key: str
) -> None:
    first = await post(api, route, body, key=key)
    again = await post(api, route, body, key=key)

    assert is_first(first)
    assert is_replay_of(again, first)

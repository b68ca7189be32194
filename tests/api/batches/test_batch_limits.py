"""The largest batch, and how the limits of keys apply to batches."""

import io

import aiohttp
import msgspec
import pytest

from malipo.db import Database
from tests.api.batches.batch_keys import PATH, Keys, items, key_of, made
from tests.api.batches.batch_keys import keys as keys
from tests.conftest import Client, Merchant


async def _sent(http: aiohttp.ClientSession, client: Client, path: str, body: bytes) -> tuple[int, str | None]:
    headers = {"x-api-key": str(client.key)}
    async with http.post(client.url + path, data=io.BytesIO(body), headers=headers) as answer:
        return answer.status, answer.headers.get("X-Error-Code")


async def test_5000_items_are_taken_and_one_more_is_not(keys: Keys) -> None:
    wanted = [
        each | {"amount": 500, "recipientName": "Neema Kessy", "description": "Wages, 46"} for each in items(5000)
    ]
    assert len(msgspec.json.encode(wanted)) > 512 * 1024
    answer = await keys.maker("POST", PATH, {"items": wanted})
    assert answer.status == 201
    assert (answer.body["batch"]["count"], answer.body["batch"]["amount"]) == (5000, 2_500_000)
    answer = await keys.maker("POST", PATH, {"items": [*wanted, wanted[0]]})
    assert (answer.status, answer.code) == (400, "items_invalid")


async def test_a_body_of_more_than_2_mebibytes_is_refused_and_only_here_may_it_be_so_large(
    keys: Keys, http: aiohttp.ClientSession
) -> None:
    large = b'{"items": [' + b" " * (2 * 1024 * 1024) + b"]}"
    assert await _sent(http, keys.maker, PATH, large) == (413, "body_too_large")
    allowed = large[: 1024 * 1024] + b"]}"
    assert await _sent(http, keys.maker, PATH, allowed) == (400, "items_invalid")
    assert await _sent(http, keys.maker, "/v1/payments/disburse", allowed) == (413, "body_too_large")


@pytest.mark.parametrize(
    ("limits", "code"),
    [({"payout_limit": 1001}, "key_payout_limit"), ({"daily_payout_limit": 3002}, "key_daily_limit")],
)
async def test_the_limits_of_the_key_that_makes_it_and_of_the_key_that_approves_it_hold(
    api: Client, database: Database, merchant: Merchant, limits: dict[str, int], code: str
) -> None:
    free = api.as_(await key_of(database, merchant, "asha@duka.example"))
    bound = api.as_(await key_of(database, merchant, "juma@duka.example", **limits))

    answer = await bound("POST", PATH, {"items": items(3)})
    assert (answer.status, answer.code) == (403, code)

    batch = await made(free)
    answer = await bound("POST", f"{PATH}/{batch['id']}/approve")
    assert (answer.status, answer.code) == (403, code)
    assert (await free("GET", "/v1/wallet")).body["wallet"]["reserved"] == 0


async def test_what_a_batch_pays_out_counts_for_the_day_of_both_keys(
    api: Client, database: Database, merchant: Merchant
) -> None:
    maker = api.as_(await key_of(database, merchant, "asha@duka.example", daily_payout_limit=5000))
    approver = api.as_(await key_of(database, merchant, "juma@duka.example", daily_payout_limit=4000))
    batch = await made(maker)
    other = await made(maker, 2)
    assert (await approver("POST", f"{PATH}/{batch['id']}/approve")).status == 200
    assert (await approver("POST", f"{PATH}/{batch['id']}/approve")).status == 200, "it counts once"

    assert (await approver("POST", f"{PATH}/{other['id']}/approve")).code == "key_daily_limit"

    payout = items(1)[0]
    assert (await approver("POST", "/v1/payments/disburse", payout | {"amount": 998})).code == "key_daily_limit"
    assert (await approver("POST", "/v1/payments/disburse", payout | {"amount": 997})).status == 201
    assert (await maker("POST", "/v1/payments/disburse", payout | {"amount": 1998})).code == "key_daily_limit"
    assert (await maker("POST", "/v1/payments/disburse", payout | {"amount": 1997})).status == 201

"""Rate limits of a key: exact, shared by a fleet, and reported in the headers."""

import asyncio
from collections.abc import Callable

import aiohttp
import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.db import Database
from malipo.merchants.api_keys import hash_of
from malipo.merchants.store import api_keys
from malipo.rate_limit import store as rate_limits
from malipo.rate_limit.sliding_window import RateClass, Window
from tests.api.auth.routes import LIMITS, NEEDS, STANDING, call, make_key
from tests.api.auth.routes import limited as limited
from tests.api.conftest import created, is_refused
from tests.conftest import COLLECTION, PAYOUT, Answer, Client, Merchant, Running


async def change_window(
    database: Database, merchant: Merchant, rate_class: RateClass, change: Callable[[Window], Window]
) -> None:
    """Another memory of what the merchant's key has sent."""
    async with database.begin() as tx:
        want = (hash_of(merchant.key.encode()), rate_class)
        found = (await api_keys.find_by_hashes(tx, [want]))[want]
        assert await rate_limits.save(tx, rate_class, {found.key.id: (found.version, change(found.window))}) == set()


async def spend(database: Database, merchant: Merchant, rate_class: RateClass, requests: int) -> None:
    """As if the merchant had sent these just now."""
    limit, now = LIMITS[rate_class], int(clock.now().timestamp() * 1000)
    await change_window(
        database, merchant, rate_class, lambda window: window.admit(requests, limit=limit, now_ms=now)[1]
    )


@pytest.mark.parametrize(("method", "path", "rate_class", "status"), [(each[0], each[1], *each[3:]) for each in NEEDS])
async def test_a_class_lets_exactly_its_limit_through(
    limited: Client,
    api: Client,
    database: Database,
    merchant: Merchant,
    method: str,
    path: str,
    rate_class: RateClass,
    status: int,
) -> None:
    """Of the large class one route is called so often, and the others at the end of it: each counts, by one."""
    transaction = await created(api, COLLECTION)
    limit = LIMITS[rate_class]
    left = limit if path == "/v1/wallet" else min(limit, 4)
    await spend(database, merchant, rate_class, limit - left)

    answers = [await call(limited, method, path, transaction["id"]) for _ in range(left)]
    refused = await call(limited, method, path, transaction["id"])

    assert [answer.status for answer in answers] == [status] * left
    assert [int(answer.headers["RateLimit-Limit"]) for answer in answers] == [limit] * left
    assert [int(answer.headers["RateLimit-Remaining"]) for answer in answers] == list(range(left - 1, -1, -1))
    assert all(0 < int(answer.headers["RateLimit-Reset"]) <= 60 for answer in answers)
    assert is_refused(refused, 429, "rate_limited")
    assert [refused.headers[name] for name in STANDING[:2]] == [str(limit), "0"]
    assert refused.headers["Retry-After"] == refused.headers["RateLimit-Reset"]
    assert 0 < int(refused.headers["Retry-After"]) <= 60


async def test_the_other_routes_share_one_class_and_the_classes_share_nothing(limited: Client) -> None:
    others = [each for each in NEEDS if each[3] is RateClass.OTHER]
    for n in range(LIMITS[RateClass.OTHER]):
        method, path, *_ = others[n % len(others)]
        assert (await call(limited, method, path)).status != 429

    for method, path, _, rate_class, status in NEEDS:
        answer = await call(limited, method, path)
        assert answer.status == (429 if rate_class is RateClass.OTHER else status)


async def test_every_key_has_its_own_count(limited: Client, database: Database, merchant: Merchant) -> None:
    other = limited.as_((await make_key(database, merchant)).text)
    for _ in range(LIMITS[RateClass.LIST]):
        assert (await limited("GET", "/v1/payments")).status == 200

    assert (await limited("GET", "/v1/payments")).status == 429
    assert (await other("GET", "/v1/payments")).headers["RateLimit-Remaining"] == str(LIMITS[RateClass.LIST] - 1)


async def test_refused_requests_do_not_count_and_retry_after_is_true(
    limited: Client, database: Database, merchant: Merchant
) -> None:
    """Time passes here by making the memory of the window older: a minute in a moment."""
    limit = LIMITS[RateClass.LIST]

    async def age(seconds: int) -> None:
        await change_window(
            database,
            merchant,
            RateClass.LIST,
            lambda window: replace(window, start_ms=window.start_ms - seconds * 1000),
        )

    for _ in range(limit):
        assert (await limited("GET", "/v1/payments")).status == 200
    refused = [await limited("GET", "/v1/payments") for _ in range(20)]
    assert {answer.status for answer in refused} == {429}
    retry_after = int(refused[-1].headers["Retry-After"])
    before_it = retry_after // 2  # A second would be over before a busy machine asks again.

    await age(retry_after - before_it)
    assert (await limited("GET", "/v1/payments")).status == 429
    await age(before_it)
    answer = await limited("GET", "/v1/payments")

    assert answer.status == 200


async def test_every_answer_after_the_door_tells_the_standing(limited: Client) -> None:
    answers = {
        200: await limited("GET", "/v1/wallet"),
        201: await limited("POST", "/v1/payments", COLLECTION),
        400: await limited("GET", "/v1/payments?page=0"),
        404: await limited("GET", "/v1/payments/MLP-NOBODY"),
        409: await _conflict(limited),
    }

    for status, answer in answers.items():
        assert answer.status == status
        assert all(answer.headers[name].isdigit() for name in STANDING), status


async def _conflict(limited: Client) -> Answer:
    headers = {"Idempotency-Key": "one"}
    await limited("POST", "/v1/payments/disburse", PAYOUT, headers=headers)
    return await limited("POST", "/v1/payments/disburse", PAYOUT | {"amount": 2000}, headers=headers)


async def test_whoever_is_not_let_in_is_told_no_standing(limited: Client) -> None:
    answer = await limited.as_("wrong")("GET", "/v1/wallet")

    assert answer.status == 401
    assert not any(name in answer.headers for name in STANDING)


async def test_a_fleet_shares_the_limit_to_the_last_request(
    http: aiohttp.ClientSession, fleet: list[Running], database: Database, merchant: Merchant
) -> None:
    """All wait at one door until it opens, so that both processes count a crowd at the same moment."""
    clients = [Client(http, each.url, merchant.key) for each in fleet]
    async with database.begin() as tx:
        await tx.execute(
            "SELECT FROM rate_limit_windows WHERE key_id = (SELECT id FROM api_keys WHERE merchant_id = $1) FOR UPDATE",
            merchant.id,
        )
        asked = asyncio.gather(*(clients[n % 2]("GET", "/v1/wallet") for n in range(200)))
        await asyncio.sleep(0.5)
        assert not asked.done()
    answers = await asked

    statuses = [answer.status for answer in answers]
    assert statuses.count(200) == LIMITS[RateClass.OTHER] == 50
    assert statuses.count(429) == 150
    assert all("Retry-After" in answer.headers for answer in answers if answer.status == 429)


async def test_without_limits_nothing_is_counted(api: Client) -> None:
    answer = await api("GET", "/v1/wallet")

    assert answer.status == 200
    assert not any(name in answer.headers for name in STANDING)

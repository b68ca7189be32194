"""Idempotency-Key: the same request sent twice is one payment, whatever has happened in between."""

import asyncio
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest

from malipo import clock
from malipo.db import Database
from malipo.merchants import issue
from malipo.merchants.keys import Environment, Permission
from malipo.payments.transaction import Status
from malipo.service import Service
from tests.api.conftest import FLEET_LIMITS, bring, total, wallet
from tests.conftest import COLLECTION, NO_LIMITS, NOBODY, PAYOUT, Answer, Client, Merchant, Running, until_ready

FULL_COLLECTION: dict[str, Any] = COLLECTION | {"description": "Sukari", "metadata": {"order": "17", "n": 1}}
FULL_PAYOUT: dict[str, Any] = PAYOUT | {"description": "Mshahara", "metadata": {"order": "17", "n": 1}}
BOTH = pytest.mark.parametrize(
    ("route", "body"),
    [("/v1/payments", FULL_COLLECTION), ("/v1/payments/disburse", FULL_PAYOUT)],
    ids=["collection", "disbursement"],
)


async def post(api: Client, route: str, body: dict[str, Any], key: str = "order-17") -> Answer:
    return await api("POST", route, body, headers={"Idempotency-Key": key})


def is_first(answer: Answer) -> bool:
    return answer.status == 201 and "Idempotency-Replayed" not in answer.headers


def is_replay_of(again: Answer, first: Answer) -> bool:
    return (
        again.status == first.status == 201
        and again.headers.get("Idempotency-Replayed") == "true"
        and again.body == first.body
        and list(again.body["transaction"]) == list(first.body["transaction"])
    )


@BOTH
async def test_the_same_request_again_gets_the_first_answer_again(
    api: Client, route: str, body: dict[str, Any]
) -> None:
    first = await post(api, route, body)
    money = await wallet(api)

    again = await post(api, route, body)

    assert is_first(first)
    assert is_replay_of(again, first)
    assert await total(api) == 1
    assert await wallet(api) == money


@pytest.mark.parametrize("status", [Status.PROCESSING, Status.COMPLETED, Status.FAILED, Status.CANCELLED])
@BOTH
async def test_the_first_answer_comes_again_after_the_transaction_has_moved_on(
    api: Client, service: Service, merchant: Merchant, route: str, body: dict[str, Any], status: Status
) -> None:
    first = await post(api, route, body)
    await bring(service, merchant, first.body["transaction"]["id"], status)

    again = await post(api, route, body)

    assert is_replay_of(again, first)
    assert again.body["transaction"]["status"] == "PENDING"


@BOTH
async def test_the_first_answer_comes_again_after_the_tariff_has_changed(
    api: Client, database: Database, merchant: Merchant, route: str, body: dict[str, Any]
) -> None:
    first = await post(api, route, body)
    async with database.begin() as tx:
        await tx.execute(
            "INSERT INTO tariffs SELECT $1, type, channel, 0, 9, 0, 0, NULL "
            "FROM (VALUES ('COLLECTION', 'MPESA'), ('DISBURSEMENT', 'AIRTEL_MONEY')) AS each (type, channel)",
            merchant.id,
        )

    again = await post(api, route, body)
    other = await post(api, route, body, key="order-18")

    assert is_replay_of(again, first)
    assert other.body["transaction"]["fee"] == 9


async def test_the_first_answer_comes_again_when_the_wallet_has_become_too_small(api: Client) -> None:
    body = PAYOUT | {"amount": 1_000_000}
    first = await post(api, "/v1/payments/disburse", body)

    again = await post(api, "/v1/payments/disburse", body)

    assert is_replay_of(again, first)


async def test_the_first_answer_comes_again_after_the_limit_was_lowered(
    api: Client, http: aiohttp.ClientSession, start: Callable[..., Running], database_url: str
) -> None:
    body = COLLECTION | {"amount": 5_000}
    first = await post(api, "/v1/payments", body)
    lowered = await until_ready(start("api", database_url=database_url, max_amount_mpesa=4_999, **NO_LIMITS))
    stricter = Client(http, lowered.url, api.key)

    again = await post(stricter, "/v1/payments", body)
    fresh = await post(stricter, "/v1/payments", body, key="order-18")
    other = await post(stricter, "/v1/payments", body | {"amount": 5_001})

    assert is_replay_of(again, first)
    assert fresh.code == "amount_too_large"
    assert other.code == "idempotency_key_reused"


@BOTH
async def test_neither_the_order_of_fields_nor_an_unknown_field_matters(
    api: Client, route: str, body: dict[str, Any]
) -> None:
    first = await post(api, route, body)
    turned = {name: body[name] for name in reversed(body)} | {"metadata": {"n": 1, "order": "17"}, "unknown": [1]}

    again = await post(api, route, turned)

    assert is_replay_of(again, first)


@BOTH
async def test_what_is_not_sent_is_the_same_as_what_is_sent_empty(
    api: Client, route: str, body: dict[str, Any]
) -> None:
    party = "buyer" if "buyerPhone" in body else "recipient"
    required = {name: body[name] for name in ("amount", "channel", f"{party}Phone")}
    first = await post(api, route, required)

    empty = await post(api, route, required | {f"{party}Name": "", "description": "", "metadata": {}})
    null = await post(api, route, required | {f"{party}Name": None, "description": None, "metadata": None})

    assert is_replay_of(empty, first)
    assert is_replay_of(null, first)


@pytest.mark.parametrize(
    "change",
    [
        {"amount": 1001},
        {"channel": "HALOPESA"},
        {"buyerPhone": "+255754000002", "recipientPhone": "+255684000002"},
        {"buyerName": "asha", "recipientName": "juma"},
        {"buyerName": "", "recipientName": ""},
        {"description": "Chumvi"},
        {"metadata": {}},
        {"metadata": {"order": "17", "n": 2}},
        {"metadata": {"order": "17", "n": "1"}},
        {"metadata": {"order": "17", "n": True}},
        {"metadata": {"order": "17", "n": 1, "more": None}},
    ],
    ids=str,
)
@BOTH
async def test_a_used_key_with_other_parameters_is_a_conflict(
    api: Client, route: str, body: dict[str, Any], change: dict[str, Any]
) -> None:
    await post(api, route, body)
    money = await wallet(api)

    answer = await post(api, route, body | {name: value for name, value in change.items() if name in body})

    assert answer.status == 409
    assert answer.code == "idempotency_key_reused"
    assert set(answer.body) == {"error"}
    assert await total(api) == 1
    assert await wallet(api) == money


@pytest.mark.parametrize(
    "change",
    [
        {"amount": 1},
        {"amount": "1000"},
        {"amount": 1000.0},
        {"amount": 10**30},
        {"amount": None},
        {"channel": "VISA"},
        {"channel": {"a": [1]}},
        {"metadata": {"a": {}}},
        {"description": "x" * 300},
        {"description": "\0"},
    ],
    ids=str,
)
@BOTH
async def test_a_used_key_is_answered_before_any_field_rule(
    api: Client, route: str, body: dict[str, Any], change: dict[str, Any]
) -> None:
    await post(api, route, body)

    answer = await post(api, route, body | change)

    assert answer.status == 409
    assert answer.code == "idempotency_key_reused"


async def test_a_key_belongs_to_its_route(api: Client) -> None:
    collection = await post(api, "/v1/payments", FULL_COLLECTION)
    disbursement = await post(api, "/v1/payments/disburse", FULL_PAYOUT)

    assert is_first(collection)
    assert is_first(disbursement)
    assert is_replay_of(await post(api, "/v1/payments", FULL_COLLECTION), collection)
    assert is_replay_of(await post(api, "/v1/payments/disburse", FULL_PAYOUT), disbursement)
    assert await total(api) == 2


@BOTH
async def test_a_key_belongs_to_its_merchant(api: Client, stranger: Merchant, route: str, body: dict[str, Any]) -> None:
    ours = await post(api, route, body)
    theirs = await post(api.as_(stranger.key), route, body | {"amount": 2000})

    assert is_first(ours)
    assert is_first(theirs)
    assert is_replay_of(await post(api, route, body), ours)


async def test_a_key_is_shared_by_the_api_keys_of_a_merchant(
    api: Client, database: Database, merchant: Merchant
) -> None:
    first = await post(api, "/v1/payments", FULL_COLLECTION)

    again = await post(api.as_(await another_key(database, merchant)), "/v1/payments", FULL_COLLECTION)

    assert is_replay_of(again, first)


async def another_key(
    database: Database, merchant: Merchant, permissions: tuple[Permission, ...] = tuple(Permission)
) -> str:
    async with database.begin() as tx:
        key = await issue.create_key(
            tx,
            merchant.id,
            name="another",
            permissions=permissions,
            environment=Environment.LIVE,
            brand="mlp",
            actor=NOBODY,
            now=clock.now(),
        )
    return key.text


@BOTH
async def test_without_a_key_every_request_is_a_payment(api: Client, route: str, body: dict[str, Any]) -> None:
    first = await api("POST", route, body)
    second = await api("POST", route, body)

    assert is_first(first)
    assert is_first(second)
    assert first.body["transaction"]["id"] != second.body["transaction"]["id"]
    assert await total(api) == 2


@BOTH
async def test_keys_are_not_alike_because_their_letters_are(api: Client, route: str, body: dict[str, Any]) -> None:
    assert is_first(await post(api, route, body, key="Order-17"))
    assert is_first(await post(api, route, body, key="order-17"))
    assert is_first(await post(api, route, body, key="order-17."))


@BOTH
async def test_twenty_at_the_same_instant_are_one_payment(api: Client, route: str, body: dict[str, Any]) -> None:
    answers = await asyncio.gather(*(post(api, route, body) for _ in range(20)))

    [first] = [answer for answer in answers if is_first(answer)]
    assert sum(is_replay_of(answer, first) for answer in answers) == 19
    assert await total(api) == 1


async def test_two_different_requests_at_the_same_instant_are_one_payment_and_a_conflict(api: Client) -> None:
    for turn in range(10):
        one, other = await asyncio.gather(
            post(api, "/v1/payments", COLLECTION | {"amount": 1000}, key=f"turn-{turn}"),
            post(api, "/v1/payments", COLLECTION | {"amount": 2000}, key=f"turn-{turn}"),
        )

        assert sorted([one.status, other.status]) == [201, 409]


async def test_two_processes_at_the_same_instant_make_one_payment(
    http: aiohttp.ClientSession, fleet: list[Running], merchant: Merchant
) -> None:
    clients = [Client(http, each.url, merchant.key) for each in fleet]

    answers = await asyncio.gather(*(post(clients[n % 2], "/v1/payments/disburse", FULL_PAYOUT) for n in range(40)))

    [first] = [answer for answer in answers if is_first(answer)]
    assert sum(is_replay_of(answer, first) for answer in answers) == 39
    assert await wallet(clients[0]) == (999_000, 1_000)


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

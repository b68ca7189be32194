"""Idempotency-Key: the same request sent twice is one payment, whatever has happened in between."""

import asyncio
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.payments.transaction import Status
from tests.api.conftest import bring, total, wallet
from tests.api.idempotency import BOTH, FULL_COLLECTION, FULL_PAYOUT, another_key, is_first, is_replay_of, post
from tests.conftest import COLLECTION, NO_LIMITS, PAYOUT, Client, Merchant, Running, until_ready


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
    assert again.headers["Idempotency-Replayed-Status"] == status, "nobody waits for a payment that has ended"


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

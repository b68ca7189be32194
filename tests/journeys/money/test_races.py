"""Many callers at the same instant, over two processes: each is answered once, and the money is right."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.app.assemble import Service
from malipo.db import Database, DataError
from malipo.db.group_commit import GroupCommit
from malipo.payments.initiate import Initiate, InitiatedPayment, PaymentRequest
from malipo.payments.transaction import Transaction, Type
from tests.conftest import COLLECTION, PAYOUT, Client, Merchant, make_merchant
from tests.journeys import database_facts
from tests.journeys.concurrency import at_once, create, order, tally
from tests.journeys.money.racing import apis as apis


async def test_fifty_payouts_race_for_a_wallet_that_pays_for_twenty(
    apis: tuple[Client, Client], database: Database
) -> None:
    merchant = await make_merchant(database, wallet=20 * 1000)
    clients = [api.as_(merchant.key) for api in apis]

    answers = await at_once([create(clients[n % 2], PAYOUT) for n in range(50)])

    assert tally(answers) == {(201, None): 20, (400, "insufficient_balance"): 30}
    assert all("amount" in answer.body["details"] for answer in answers if answer.status == 400)
    created = {answer.body["transaction"]["id"] for answer in answers if answer.status == 201}
    assert created == set(await database_facts.ids(database, merchant.id))
    assert await database_facts.wallet(database, merchant.id) == (0, 20 * 1000)
    shown = await clients[0]("GET", "/v1/wallet")
    assert (shown.body["wallet"]["available"], shown.body["wallet"]["reserved"]) == (0, 20 * 1000)
    await database_facts.assert_clean(database)


async def test_fees_are_part_of_what_payouts_race_for(apis: tuple[Client, Client], database: Database) -> None:
    merchant = await make_merchant(database, wallet=20 * 1000)
    async with database.begin() as tx:
        await tx.execute(
            "INSERT INTO tariffs VALUES ($1, 'DISBURSEMENT', 'AIRTEL_MONEY', 0, 100, 0, 0, NULL)", merchant.id
        )

    answers = await at_once([create(apis[n % 2].as_(merchant.key), PAYOUT) for n in range(30)])

    assert tally(answers) == {(201, None): 18, (400, "insufficient_balance"): 12}
    assert await database_facts.wallet(database, merchant.id) == (200, 18 * 1100)
    await database_facts.assert_clean(database)


@pytest.mark.parametrize("body", [COLLECTION, PAYOUT], ids=["collection", "payout"])
async def test_one_key_sent_a_hundred_times_at_once_makes_one_payment(
    apis: tuple[Client, Client], merchant: Merchant, database: Database, body: dict[str, Any]
) -> None:
    answers = await at_once([create(apis[n % 2], body, key="order-1") for n in range(100)])

    assert tally(answers) == {(201, None): 100}
    assert all(answer.body == answers[0].body for answer in answers)
    assert Counter(answer.headers.get("Idempotency-Replayed") for answer in answers) == {"true": 99, None: 1}
    assert await database_facts.ids(database) == [answers[0].body["transaction"]["id"]]
    spent = 1000 if body is PAYOUT else 0
    assert await database_facts.wallet(database, merchant.id) == (1_000_000 - spent, spent)
    await database_facts.assert_clean(database)


async def test_one_key_with_many_amounts_at_once_is_won_by_one_of_them(
    apis: tuple[Client, Client], merchant: Merchant, database: Database
) -> None:
    bodies = [PAYOUT | {"amount": 1000 + n} for n in range(40)]

    answers = await at_once([create(apis[n % 2], body, key="order-1") for n, body in enumerate(bodies)])

    assert tally(answers) == {(201, None): 1, (409, "idempotency_key_reused"): 39}
    [winner] = [answer.body["transaction"] for answer in answers if answer.status == 201]
    assert await database_facts.ids(database) == [winner["id"]]
    assert await database_facts.wallet(database, merchant.id) == (1_000_000 - winner["amount"], winner["amount"])
    again = await create(apis[0], PAYOUT | {"amount": winner["amount"]}, key="order-1")
    assert (again.status, again.headers.get("Idempotency-Replayed")) == (201, "true")
    await database_facts.assert_clean(database)


async def test_a_key_whose_payout_was_refused_is_free_for_one_that_the_wallet_can_bear(
    apis: tuple[Client, Client], database: Database
) -> None:
    merchant = await make_merchant(database, wallet=1000)
    bodies = [PAYOUT | {"amount": 5000}] * 20 + [PAYOUT] + [PAYOUT | {"amount": 5000}] * 20

    answers = await at_once(
        [create(apis[n % 2].as_(merchant.key), body, key="order-1") for n, body in enumerate(bodies)]
    )

    # A request decided before the one that fits is refused because of the money; one after it, because of the key.
    assert set(tally(answers)) <= {(201, None), (400, "insufficient_balance"), (409, "idempotency_key_reused")}
    assert [answer.body["transaction"]["amount"] for answer in answers if answer.status == 201] == [1000]
    assert answers[20].status == 201
    again = await create(apis[1].as_(merchant.key), PAYOUT, key="order-1")
    assert again.body == answers[20].body
    assert (await create(apis[0].as_(merchant.key), PAYOUT | {"amount": 5000}, key="order-1")).status == 409
    assert await database_facts.wallet(database, merchant.id) == (0, 1000)
    await database_facts.assert_clean(database)


async def test_one_bad_request_among_a_hundred_leaves_the_others_alone(
    apis: tuple[Client, Client], merchant: Merchant, database: Database
) -> None:
    bodies = [PAYOUT if n % 2 else COLLECTION for n in range(99)]
    bodies.insert(50, COLLECTION | {"buyerPhone": "12345"})

    answers = await at_once([create(apis[0], body, key=f"order-{n}") for n, body in enumerate(bodies)])

    assert tally(answers) == {(201, None): 99, (400, "phone_invalid"): 1}
    assert answers[50].status == 400
    assert len(await database_facts.ids(database)) == await database_facts.count(database, "idempotency_keys") == 99
    assert await database_facts.largest_commit(database) > 1
    await database_facts.assert_clean(database)


def _with_a_name_that_is_no_text(draft: Transaction) -> Transaction:
    return replace(draft, name="As\0ha")  # SQLSTATE 22021


def _with_an_amount_that_no_column_holds(draft: Transaction) -> Transaction:
    return replace(draft, amount=2**63)  # Refused by the driver.


def _of_nothing(draft: Transaction) -> Transaction:
    return replace(draft, amount=0, type=Type.COLLECTION)  # SQLSTATE 23514


def _on_a_channel_that_is_none(draft: Transaction) -> Transaction:
    return replace(draft, channel="PIGEON")  # SQLSTATE 23514


@pytest.mark.parametrize(
    "spoil",
    [
        _with_a_name_that_is_no_text,
        _with_an_amount_that_no_column_holds,
        _of_nothing,
        _on_a_channel_that_is_none,
    ],
)
async def test_one_rider_whom_the_database_refuses_leaves_the_others_alone(
    database: Database, merchant: Merchant, spoil: Callable[[Transaction], Transaction]
) -> None:
    group = GroupCommit[PaymentRequest, Any](database, Initiate(clock=clock.now), patience_seconds=10)
    types = [Type.DISBURSEMENT, Type.COLLECTION]
    orders = [order(merchant.id, types[n % 2], 1000, key=f"order-{n}") for n in range(100)]
    draft = orders[41].draft
    assert draft is not None
    orders[41] = replace(orders[41], draft=spoil(draft))

    answers = await asyncio.gather(*(group(each) for each in orders), return_exceptions=True)

    assert isinstance(answers.pop(41), DataError)
    assert all(isinstance(answer, InitiatedPayment) and not answer.is_replay for answer in answers)
    good = {each.draft.id for n, each in enumerate(orders) if n != 41 and each.draft is not None}
    assert set(await database_facts.ids(database)) == good
    assert await database_facts.count(database, "idempotency_keys") == 99
    assert await database_facts.wallet(database, merchant.id) == (1_000_000 - 50 * 1000, 50 * 1000)
    await database_facts.assert_clean(database)


async def test_two_references_that_meet_in_one_batch_are_both_paid(
    service: Service, database: Database, merchant: Merchant
) -> None:
    orders = [order(merchant.id, Type.DISBURSEMENT, 1000) for _ in range(20)]
    first, twin = orders[3].draft, orders[11].draft
    assert first is not None
    assert twin is not None
    orders[11] = replace(orders[11], draft=replace(twin, reference=first.reference, network_key=first.network_key))

    answers = await at_once([service.payments.initiate(each) for each in orders])

    assert len({answer.transaction.reference for answer in answers}) == 20
    assert answers[11].transaction.id == twin.id
    assert await database_facts.wallet(database, merchant.id) == (1_000_000 - 20 * 1000, 20 * 1000)
    await database_facts.assert_clean(database)

"""Two API processes and two workers on one PostgreSQL: limits, keys and payouts stay exact."""

import signal
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Client, Running, create_database, make_merchant, until_ready
from tests.journeys import database_facts
from tests.journeys.concurrency import at_once, create, tally
from tests.journeys.full_stack import FullStack, full_stack_started, until

WALLET = 100_000
LIMIT = 40
PAYOUT = {"amount": 1000, "channel": "AIRTEL_MONEY", "recipientPhone": "+255684001001"}
COLLECTION = {"amount": 1000, "channel": "AIRTEL_MONEY", "buyerPhone": "+255684001001"}


@pytest.fixture(scope="module")
async def full_stack(
    postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FullStack]:
    folder: Path = tmp_path_factory.mktemp("town")
    url = await create_database(postgres, template)
    async with full_stack_started(folder, url, wallet=WALLET, rate_limit_list=LIMIT) as full_stack:
        yield full_stack


@pytest.fixture(scope="module", autouse=True)
def workers(full_stack: FullStack) -> list[Running]:
    return [full_stack.start("worker") for _ in range(2)]


@pytest.fixture(scope="module")
async def doors(full_stack: FullStack) -> tuple[Client, Client]:
    second = await until_ready(full_stack.start("api"))
    other = Client(full_stack.api._http, second.url, full_stack.merchant.key)
    return full_stack.api, other


async def test_a_key_that_comes_to_both_doors_pays_once(full_stack: FullStack, doors: tuple[Client, Client]) -> None:
    merchant = await make_merchant(full_stack.database, wallet=50_000)
    keys = [f"order-{number}" for number in range(20)]
    answers = await at_once(
        [create(door.as_(merchant.key), PAYOUT, key=key) for key in keys for door in doors for _ in range(2)]
    )
    assert Counter(answer.status for answer in answers) == {201: 80}
    assert len({answer.body["transaction"]["id"] for answer in answers}) == 20
    assert sum("Idempotency-Replayed" not in answer.headers for answer in answers) == 20

    async def are_paid() -> bool:
        return await database_facts.wallet(full_stack.database, merchant.id) == (30_000, 0)

    await until(are_paid, what="their being paid")


async def test_both_doors_together_spend_no_more_than_the_wallet_holds(
    full_stack: FullStack, doors: tuple[Client, Client]
) -> None:
    """Each payout is to a phone of its own, so the network's book says who was paid, and how often."""
    phones = [f"+25568{number}001" for number in range(4_100, 4_250)]
    answers = await at_once(
        [create(doors[place % 2], PAYOUT | {"recipientPhone": phone}) for place, phone in enumerate(phones)]
    )
    assert tally(answers) == {(201, None): WALLET // 1000, (400, "insufficient_balance"): 150 - WALLET // 1000}
    taken = [answer.body["transaction"]["id"] for answer in answers if answer.status == 201]

    async def are_over() -> bool:
        async with full_stack.database.read() as connection:
            open_ = await connection.fetchval(
                "SELECT count(*) FROM transactions WHERE id = ANY($1) AND ended_at IS NULL", taken
            )
        return not open_

    await until(are_over, what="the end of all of them")
    async with full_stack.database.read() as connection:
        rows = await connection.fetch("SELECT phone, amount, status FROM transactions WHERE id = ANY($1)", taken)
    paid = {row["phone"]: row["amount"] for row in rows if row["status"] == "COMPLETED"}
    moved = await full_stack.moved()
    assert {phone: [each["amount"] for each in moved.get(phone, [])] for phone in phones} == {
        phone: [paid[phone]] if phone in paid else [] for phone in phones
    }
    spent = sum(paid.values())
    assert await database_facts.wallet(full_stack.database, full_stack.merchant.id) == (WALLET - spent, 0)
    await database_facts.assert_clean(full_stack.database)


async def test_a_limit_counts_what_comes_to_both_doors(full_stack: FullStack, doors: tuple[Client, Client]) -> None:
    merchant = await make_merchant(full_stack.database)
    answers = await at_once([doors[number % 2].as_(merchant.key)("GET", "/v1/payments") for number in range(2 * LIMIT)])
    assert Counter(answer.status for answer in answers) == {200: LIMIT, 429: LIMIT}


async def test_a_payment_made_at_one_api_is_shown_by_the_other_and_both_workers_work(
    full_stack: FullStack, doors: tuple[Client, Client]
) -> None:
    merchant = await make_merchant(full_stack.database)
    here, there = (door.as_(merchant.key) for door in doors)
    made = await at_once([create(here, COLLECTION) for _ in range(60)])
    ids = {answer.body["transaction"]["id"] for answer in made}

    listed = (await there("GET", "/v1/payments?limit=100")).body
    assert {each["id"] for each in listed["transactions"]} == ids
    assert listed["pagination"]["total"] == 60

    async def are_paid() -> bool:
        return await database_facts.wallet(full_stack.database, merchant.id) == (60_000, 0)

    await until(are_paid, what="their being paid")
    shown = await at_once([there("GET", f"/v1/payments/{id_}") for id_ in ids])
    assert {answer.body["transaction"]["status"] for answer in shown} == {"COMPLETED"}
    await database_facts.assert_clean(full_stack.database)


@pytest.mark.parametrize("hung", [0, 1])
async def test_the_work_of_a_hanging_first_worker_is_done_by_the_other(
    full_stack: FullStack, workers: list[Running], hung: int
) -> None:
    """One of them is first to send, and one to send webhooks: whichever hangs, all is done."""
    merchant = await make_merchant(full_stack.database)
    api = full_stack.api.as_(merchant.key)
    workers[hung].process.send_signal(signal.SIGSTOP)
    try:
        made = await at_once([create(api, COLLECTION) for _ in range(5)])
        assert {answer.status for answer in made} == {201}

        async def is_done() -> bool:
            events: list[dict[str, Any]] = (await api("GET", "/v1/events?limit=100")).body["events"]
            return [each["event"] for each in events].count("payment.completed") == 5

        await until(is_done, what="their payment and its events")
    finally:
        workers[hung].process.send_signal(signal.SIGCONT)
    assert await database_facts.wallet(full_stack.database, merchant.id) == (5_000, 0)

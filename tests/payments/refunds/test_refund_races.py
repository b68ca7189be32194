"""Many refunds of one collection at once, in one process and in several: it is refunded once."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from malipo.app.assemble import assemble
from malipo.db import Database
from malipo.errors import Refusal
from malipo.networks.connector import Verdict
from malipo.payments.cancel import Cancellation
from malipo.payments.initiate import Initiate, InitiatedPayment
from malipo.payments.refunds.refundable import RefundInProgress
from malipo.payments.transaction import Status
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, Merchant
from tests.journeys import database_facts
from tests.journeys.money.racing import held_up
from tests.payments.refunds.refund_steps import RefundSteps
from tests.payments.refunds.refund_steps import steps as steps


@pytest.fixture
async def processes(database: Database, database_url: str, merchant: Merchant) -> AsyncIterator[list[RefundSteps]]:
    """Three services, each with connections and group commits of its own."""
    databases = [database, Database(database_url, size=10), Database(database_url, size=10)]
    for each in databases[1:]:
        await each.open()
    yield [RefundSteps(assemble(Settings(**NO_LIMITS), each), merchant.id) for each in databases]
    for each in databases[1:]:
        await each.close()


def _codes(answers: list[InitiatedPayment | BaseException]) -> Counter[str]:
    for each in answers:
        assert isinstance(each, InitiatedPayment | Refusal), each
    return Counter(each.code if isinstance(each, Refusal) else "made" for each in answers)


async def test_fifty_at_once_refund_a_collection_once(processes: list[RefundSteps]) -> None:
    steps = processes[0]
    collection = await steps.collected()

    answers = await asyncio.gather(
        *(processes[place % 3].ask(collection) for place in range(50)), return_exceptions=True
    )

    assert _codes(answers) == {"made": 1, "refund_in_progress": 49}
    assert await database_facts.wallet(steps.database, steps.merchant_id) == (1_000_000, 5000)
    await database_facts.assert_clean(steps.database)


async def test_three_processes_with_one_request_each_refund_it_once(processes: list[RefundSteps]) -> None:
    """Nobody else in their commits: the lock alone decides, and nobody meets a constraint of the database."""
    steps = processes[0]
    for _ in range(10):
        collection = await steps.collected()
        answers = await asyncio.gather(*(each.ask(collection) for each in processes), return_exceptions=True)
        assert _codes(answers) == {"made": 1, "refund_in_progress": 2}
    await database_facts.assert_clean(steps.database)


async def test_two_in_one_commit_refund_it_once(steps: RefundSteps) -> None:
    collection = await steps.collected()
    orders = [steps.order(collection, 1000), steps.order(collection, 1000)]
    async with steps.database.begin() as tx:
        first, second = await Initiate(clock=steps.service.clock)(tx, orders, again=False)
    assert isinstance(first, InitiatedPayment)
    assert isinstance(second, RefundInProgress)
    await database_facts.assert_clean(steps.database)


async def test_fifty_at_once_with_one_idempotency_key_are_one_refund(processes: list[RefundSteps]) -> None:
    steps = processes[0]
    collection = await steps.collected()

    answers = await asyncio.gather(
        *(processes[place % 3].ask(collection, key="return-1") for place in range(50)), return_exceptions=True
    )

    assert _codes(answers) == {"made": 50}
    assert Counter(each.is_replay for each in answers if isinstance(each, InitiatedPayment)) == {True: 49, False: 1}
    assert await database_facts.count(steps.database, "refunds") == 1


async def test_fifty_at_once_of_other_amounts_never_exceed_it(processes: list[RefundSteps]) -> None:
    steps = processes[0]
    collection = await steps.collected()
    amounts = [None, 500, 1000, 2500, 4500]
    for _ in range(6):
        answers = await asyncio.gather(
            *(processes[place % 3].ask(collection, amounts[place % 5]) for place in range(50)), return_exceptions=True
        )
        made = [each.transaction for each in answers if isinstance(each, InitiatedPayment)]
        assert len(made) <= 1
        for each in made:
            await steps.claim()
            await steps.report(each, Verdict.CONFIRMED)
    assert await steps.refunded_amount(collection) <= 5000
    await database_facts.assert_clean(steps.database)


async def test_a_refund_raced_with_the_end_of_the_one_before_it(processes: list[RefundSteps]) -> None:
    """Whichever is first: refused, or made of what is left then."""
    steps, other, _ = processes
    for verdict in (Verdict.CONFIRMED, Verdict.REFUSED) * 3:
        collection = await steps.collected()
        first = await steps.sent(collection)
        await asyncio.gather(
            steps.report(first, verdict), *(other.ask(collection) for _ in range(10)), return_exceptions=True
        )
        under_way = [each for each in (await steps.seen(collection)).refunds if each.is_under_way]
        assert len(under_way) <= (verdict is Verdict.REFUSED)
        await database_facts.assert_clean(steps.database)


async def test_a_refund_raced_with_the_cancelling_of_the_one_before_it_uses_its_key_once(
    processes: list[RefundSteps],
) -> None:
    steps, other, third = processes
    for _ in range(8):
        collection = await steps.collected()
        first = await steps.refund(collection)
        await asyncio.gather(
            other.service.payments.cancel(Cancellation(steps.merchant_id, first.id)),
            *(third.ask(collection) for _ in range(5)),
            return_exceptions=True,
        )
        refunds = (await steps.seen(collection)).refunds
        assert sum(each.status is not Status.CANCELLED for each in refunds) <= 1
        await database_facts.assert_clean(steps.database)


async def test_a_refund_raced_with_a_network_that_takes_the_collection_back_is_never_sent_after_it(
    processes: list[RefundSteps],
) -> None:
    steps, other, _ = processes
    for _ in range(5):
        collection = await steps.collected()
        await asyncio.gather(
            steps.contradict(collection, is_paid=False),
            *(other.ask(collection) for _ in range(5)),
            return_exceptions=True,
        )
        assert (await steps.claim()).to_send == []
        await database_facts.assert_clean(steps.database)


async def test_refunds_of_many_collections_from_both_ends_do_not_wait_in_a_circle(
    processes: list[RefundSteps], steps: RefundSteps
) -> None:
    collections = [await steps.collected(1000 + place) for place in range(20)]
    answers = await asyncio.gather(
        *(processes[0].ask(each) for each in collections),
        *(processes[1].ask(each) for each in reversed(collections)),
        return_exceptions=True,
    )
    assert _codes(answers) == {"made": 20, "refund_in_progress": 20}
    await database_facts.assert_clean(steps.database)


async def test_a_refund_that_takes_the_key_of_a_cancelled_one_waits_for_it_before_it_holds_the_wallet(
    processes: list[RefundSteps], database_url: str
) -> None:
    """Whoever has a report about the cancelled refund to write holds it, and then needs the wallet."""
    steps = processes[0]
    collection = await steps.collected()
    cancelled = await steps.refunded(collection, status=Status.CANCELLED)
    row = "SELECT FROM transactions WHERE id = $1 FOR UPDATE"
    async with held_up(database_url, row, cancelled.id) as until_waiting:
        asked = asyncio.create_task(steps.ask(collection))
        await until_waiting(1)
        async with processes[1].database.begin() as tx:
            await tx.execute("SELECT FROM wallets WHERE merchant_id = $1 FOR UPDATE NOWAIT", steps.merchant_id)
    refund = (await asked).transaction
    assert refund.network_key == cancelled.network_key
    await database_facts.assert_clean(steps.database)

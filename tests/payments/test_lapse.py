"""Collections that wait too long to be sent lapse, payouts wait, whatever the clocks say."""

import pytest

from malipo import clock
from malipo.networks.connector import Channel, FailureCode, Verdict
from malipo.payments.dispatch import AnswerSource
from malipo.payments.lapse import lapse
from malipo.payments.transaction import Status, Type
from tests.journeys import database_facts
from tests.payments.payment_steps import ROUTE, PaymentSteps, of
from tests.payments.payment_steps import steps as steps


async def test_a_collection_that_waited_too_long_is_ended_instead_of_sent_and_a_payout_is_sent(
    steps: PaymentSteps,
) -> None:
    collection, payout = await steps.open(Type.COLLECTION), await steps.open(Type.DISBURSEMENT)
    fresh = await steps.open(Type.COLLECTION)
    await steps.wait(collection, payout, seconds=601)
    await steps.wait(fresh, seconds=590)

    taken = await steps.claim(lapse_seconds=600)

    assert set(of(taken.to_send)) == {payout.id, fresh.id}
    [ended] = taken.lapsed
    assert (ended.id, ended.status) == (collection.id, Status.FAILED)
    assert ended.failure_code == FailureCode.CHANNEL_UNAVAILABLE
    assert "Nothing was charged" in (ended.failure_reason or "")
    assert ended.processing_at is None, "it never was"
    assert await steps.dispatch(collection) is None
    await database_facts.assert_clean(steps.database)


async def test_an_unsent_collection_lapses_too_and_one_that_may_have_arrived_never_does(steps: PaymentSteps) -> None:
    unsent, lost, again = [await steps.send(Type.COLLECTION) for _ in range(3)]
    payout = await steps.send(Type.DISBURSEMENT)
    await steps.wait(unsent, lost, again, payout, seconds=700)
    await steps.hear(lost, Verdict.UNKNOWN, AnswerSource.SEND)
    for each in (unsent, again, payout):
        await steps.hear(each, Verdict.UNSENT, AnswerSource.SEND)
    async with steps.database.begin() as tx:  # As if it had been sent before, and the network had reported it.
        await tx.execute("UPDATE dispatches SET send_count = 1 WHERE transaction_id = $1", again.id)
    await steps.make_due(unsent, lost, again, payout)

    taken = await steps.claim(lapse_seconds=600)

    assert set(of(taken.to_send)) == {payout.id, again.id}
    assert of(taken.lapsed) == [unsent.id]
    assert taken.lapsed[0].failure_code == FailureCode.CHANNEL_UNAVAILABLE
    assert await steps.status(lost) is Status.PROCESSING
    await database_facts.assert_clean(steps.database)


@pytest.mark.parametrize("ahead_seconds", [660, -660])
async def test_a_workers_clock_that_is_minutes_off_fails_nothing(steps: PaymentSteps, ahead_seconds: float) -> None:
    """What lapses counts from a time that the database stamped, by the database's clock."""
    collection = await steps.open(Type.COLLECTION)
    waited = await steps.open(Type.COLLECTION)
    await steps.wait(waited, seconds=700)

    taken = await steps.ago(-ahead_seconds).claim(lapse_seconds=600)

    assert (of(taken.to_send), of(taken.lapsed)) == ([collection.id], [waited.id])
    await steps.ago(-ahead_seconds).hear(collection, Verdict.MISSING)
    for _ in range(5):
        await steps.ago(-ahead_seconds).hear(collection, Verdict.MISSING)
    assert await steps.status(collection) is Status.PROCESSING, "nor is the time for it to be found over"
    await database_facts.assert_clean(steps.database)


@pytest.mark.parametrize("is_api_ahead", [True, False])
async def test_an_api_whose_clock_is_minutes_off_has_no_collection_lapse_too_early(
    steps: PaymentSteps, is_api_ahead: bool
) -> None:
    collection = await steps.ago(-660 if is_api_ahead else 660).open(Type.COLLECTION)
    taken = await steps.claim(lapse_seconds=600)
    assert (of(taken.to_send), taken.lapsed) == ([collection.id], [])


async def test_while_a_network_is_down_collections_lapse_and_payouts_wait(steps: PaymentSteps) -> None:
    unsent, lost = [await steps.send(Type.COLLECTION) for _ in range(2)]
    await steps.hear(unsent, Verdict.UNSENT, AnswerSource.SEND)
    await steps.hear(lost, Verdict.UNKNOWN, AnswerSource.SEND)
    waiting, payout = await steps.open(Type.COLLECTION), await steps.open(Type.DISBURSEMENT)
    await steps.wait(waiting, payout, unsent, lost, seconds=700)
    fresh = await steps.open(Type.COLLECTION)

    async with steps.database.begin() as tx:
        ended = await lapse(tx, [Channel.MPESA], connector=ROUTE, lapse_seconds=600, most=500, now=clock.now())

    assert set(of(ended)) == {unsent.id, waiting.id}
    assert {each.failure_code for each in ended} == {FailureCode.CHANNEL_UNAVAILABLE}
    assert [await steps.status(each) for each in (lost, payout, fresh)] == [
        Status.PROCESSING,
        Status.PENDING,
        Status.PENDING,
    ]
    await database_facts.assert_clean(steps.database)

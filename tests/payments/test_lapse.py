"""Collections that wait too long to be sent lapse, payouts wait for a network that is connected, whatever the clocks say."""

import pytest

from malipo import clock
from malipo.networks.connector import Channel, FailureCode, Verdict
from malipo.payments.cancel import Cancellation
from malipo.payments.dispatch import AnswerSource
from malipo.payments.lapse import fail_unconnected_payouts, lapse
from malipo.payments.transaction import Status, Type
from malipo.restore.store import installation
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
    await steps.report(lost, Verdict.UNKNOWN, AnswerSource.SEND)
    for each in (unsent, again, payout):
        await steps.report(each, Verdict.UNSENT, AnswerSource.SEND)
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
    await steps.ago(-ahead_seconds).report(collection, Verdict.MISSING)
    for _ in range(5):
        await steps.ago(-ahead_seconds).report(collection, Verdict.MISSING)
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
    await steps.report(unsent, Verdict.UNSENT, AnswerSource.SEND)
    await steps.report(lost, Verdict.UNKNOWN, AnswerSource.SEND)
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


async def fail_unconnected(steps: PaymentSteps, *, seconds: float = 3600) -> list[str]:
    async with steps.database.begin() as tx:
        ended = await fail_unconnected_payouts(tx, [Channel.MPESA], lapse_seconds=seconds, most=500, now=clock.now())
    assert {(each.status, each.failure_code) for each in ended} <= {(Status.FAILED, FailureCode.CHANNEL_UNAVAILABLE)}
    return of(ended)


async def test_a_payout_without_a_connected_network_fails_after_a_time_and_its_money_is_back(
    steps: PaymentSteps,
) -> None:
    await steps.charge_fees()
    before = await database_facts.wallet(steps.database, steps.merchant_id)
    old, fresh = await steps.open(Type.DISBURSEMENT, 5000), await steps.open(Type.DISBURSEMENT, 700)
    await steps.wait(old, seconds=3601)
    await steps.wait(fresh, seconds=3500)

    assert await fail_unconnected(steps) == [old.id]
    assert await fail_unconnected(steps) == [], "once"

    await steps.service.payments.cancel(Cancellation(steps.merchant_id, fresh.id))
    assert await database_facts.wallet(steps.database, steps.merchant_id) == before
    assert await steps.dispatch(old) is None
    assert (await steps.claim()).to_send == []
    await database_facts.assert_clean(steps.database)


async def test_a_payout_that_any_network_may_know_never_fails_so(steps: PaymentSteps) -> None:
    sent, unsent, lost = [await steps.send(Type.DISBURSEMENT) for _ in range(3)]
    await steps.report(unsent, Verdict.UNSENT, AnswerSource.SEND)
    await steps.report(lost, Verdict.UNKNOWN, AnswerSource.SEND)
    asked, reported = await steps.open(Type.DISBURSEMENT), await steps.open(Type.DISBURSEMENT)
    async with steps.database.begin() as tx:  # As after a restore; and a network has reported it before it was sent.
        await tx.execute("UPDATE dispatches SET is_asked_first = true WHERE transaction_id = $1", asked.id)
    await steps.report(reported, Verdict.CONFIRMED, AnswerSource.CALLBACK)
    await steps.wait(sent, unsent, lost, asked, reported, seconds=100_000)

    assert await fail_unconnected(steps) == []
    await database_facts.assert_clean(steps.database)


async def test_held_payouts_and_those_of_a_closed_merchant_wait_without_a_network_too(steps: PaymentSteps) -> None:
    payout = await steps.open(Type.DISBURSEMENT)
    await steps.wait(payout, seconds=4000)
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = false")
    assert await fail_unconnected(steps) == []
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = true")
        await installation.add_channel_holds(tx, [("MPESA", "DISBURSEMENT")], held_by="asha", reason="It is down.")
    assert await fail_unconnected(steps) == []
    async with steps.database.begin() as tx:
        await installation.end_channel_holds(tx, [("MPESA", "DISBURSEMENT")])
    assert await fail_unconnected(steps) == [payout.id]

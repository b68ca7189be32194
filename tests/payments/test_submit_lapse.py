"""Collections that wait too long to be sent lapse, payouts wait, whatever the clocks say."""

import pytest

from malipo import clock
from malipo.networks.contract import Channel, FailureCode, Verdict
from malipo.payments.pursuit import Act
from malipo.payments.submit import lapse
from malipo.payments.transaction import Status, Type
from tests.journeys import witness
from tests.payments.story import ROUTE, Story, of
from tests.payments.story import story as story


async def test_a_collection_that_waited_too_long_is_ended_instead_of_sent_and_a_payout_is_sent(story: Story) -> None:
    collection, payout = await story.open(Type.COLLECTION), await story.open(Type.DISBURSEMENT)
    fresh = await story.open(Type.COLLECTION)
    await story.wait(collection, payout, seconds=601)
    await story.wait(fresh, seconds=590)

    taken = await story.claim(lapse_seconds=600)

    assert set(of(taken.to_send)) == {payout.id, fresh.id}
    [ended] = taken.lapsed
    assert (ended.id, ended.status) == (collection.id, Status.FAILED)
    assert ended.failure_code == FailureCode.CHANNEL_UNAVAILABLE
    assert "Nothing was charged" in (ended.failure_reason or "")
    assert ended.processing_at is None, "it never was"
    assert await story.dispatch(collection) is None
    await witness.assert_clean(story.database)


async def test_an_unsent_collection_lapses_too_and_one_that_may_have_arrived_never_does(story: Story) -> None:
    unsent, lost, again = [await story.send(Type.COLLECTION) for _ in range(3)]
    payout = await story.send(Type.DISBURSEMENT)
    await story.wait(unsent, lost, again, payout, seconds=700)
    await story.hear(lost, Verdict.UNKNOWN, Act.SEND)
    for each in (unsent, again, payout):
        await story.hear(each, Verdict.UNSENT, Act.SEND)
    async with story.database.begin() as tx:  # As if it had been sent before, and heard of.
        await tx.execute("UPDATE dispatches SET sends = 1 WHERE transaction_id = $1", again.id)
    await story.make_due(unsent, lost, again, payout)

    taken = await story.claim(lapse_seconds=600)

    assert set(of(taken.to_send)) == {payout.id, again.id}
    assert of(taken.lapsed) == [unsent.id]
    assert taken.lapsed[0].failure_code == FailureCode.CHANNEL_UNAVAILABLE
    assert await story.status(lost) is Status.PROCESSING
    await witness.assert_clean(story.database)


@pytest.mark.parametrize("ahead_seconds", [660, -660])
async def test_a_workers_clock_that_is_minutes_off_fails_nothing(story: Story, ahead_seconds: float) -> None:
    """What lapses counts from a time that the database stamped, by the database's clock."""
    collection = await story.open(Type.COLLECTION)
    waited = await story.open(Type.COLLECTION)
    await story.wait(waited, seconds=700)

    taken = await story.ago(-ahead_seconds).claim(lapse_seconds=600)

    assert (of(taken.to_send), of(taken.lapsed)) == ([collection.id], [waited.id])
    await story.ago(-ahead_seconds).hear(collection, Verdict.MISSING)
    for _ in range(5):
        await story.ago(-ahead_seconds).hear(collection, Verdict.MISSING)
    assert await story.status(collection) is Status.PROCESSING, "nor is the time for it to be found over"
    await witness.assert_clean(story.database)


@pytest.mark.parametrize("is_api_ahead", [True, False])
async def test_an_api_whose_clock_is_minutes_off_has_no_collection_lapse_too_early(
    story: Story, is_api_ahead: bool
) -> None:
    collection = await story.ago(-660 if is_api_ahead else 660).open(Type.COLLECTION)
    taken = await story.claim(lapse_seconds=600)
    assert (of(taken.to_send), taken.lapsed) == ([collection.id], [])


async def test_while_a_network_is_down_collections_lapse_and_payouts_wait(story: Story) -> None:
    unsent, lost = [await story.send(Type.COLLECTION) for _ in range(2)]
    await story.hear(unsent, Verdict.UNSENT, Act.SEND)
    await story.hear(lost, Verdict.UNKNOWN, Act.SEND)
    waiting, payout = await story.open(Type.COLLECTION), await story.open(Type.DISBURSEMENT)
    await story.wait(waiting, payout, unsent, lost, seconds=700)
    fresh = await story.open(Type.COLLECTION)

    async with story.database.begin() as tx:
        ended = await lapse(tx, [Channel.MPESA], route=ROUTE, lapse_seconds=600, most=500, now=clock.now())

    assert set(of(ended)) == {unsent.id, waiting.id}
    assert {each.failure_code for each in ended} == {FailureCode.CHANNEL_UNAVAILABLE}
    assert [await story.status(each) for each in (lost, payout, fresh)] == [
        Status.PROCESSING,
        Status.PENDING,
        Status.PENDING,
    ]
    await witness.assert_clean(story.database)

"""Reports after the end, about a refund or its collection: the money is returned once."""

import pytest

from malipo.networks.connector import Verdict
from malipo.payments.cancel import Cancellation
from malipo.payments.refunds.refundable import AlreadyRefunded, NotRefundable, RefundInProgress
from malipo.payments.transaction import Status, Type
from tests.journeys import database_facts
from tests.payments.refunds.refund_steps import RefundSteps
from tests.payments.refunds.refund_steps import steps as steps

F, X = Status.FAILED, Status.CANCELLED


async def test_a_refund_that_was_failed_and_is_paid_after_all_counts_so_that_no_second_one_pays(
    steps: RefundSteps,
) -> None:
    collection = await steps.collected()
    refund = await steps.refunded(collection, status=F)
    await steps.contradict(refund, is_paid=True)

    assert await steps.refunded_amount(collection) == 5000
    with pytest.raises(AlreadyRefunded):
        await steps.ask(collection)
    assert ("payment.refunded", 1) in await steps.events(collection)
    await database_facts.assert_clean(steps.database)


async def test_a_refund_that_was_completed_and_taken_back_may_be_made_again(steps: RefundSteps) -> None:
    collection = await steps.collected()
    refund = await steps.refunded(collection, 3000)
    await steps.contradict(refund, is_paid=False)

    assert await steps.refunded_amount(collection) == 0
    assert (await steps.refunded(collection)).amount == 5000
    assert await steps.refunded_amount(collection) == 5000
    await database_facts.assert_clean(steps.database)


async def test_a_refund_whose_network_contradicts_itself_repeatedly_is_reported_once(steps: RefundSteps) -> None:
    collection = await steps.collected()
    refund = await steps.refunded(collection, status=F)
    for is_paid in (True, False, True):
        await steps.contradict(refund, is_paid=is_paid)
        assert await steps.refunded_amount(collection) == (5000 if is_paid else 0)
    assert [event for event, _ in await steps.events(collection)].count("payment.refunded") == 1
    await database_facts.assert_clean(steps.database)


async def test_both_refunds_paid_because_the_first_was_reported_too_late_are_both_counted(steps: RefundSteps) -> None:
    """The second was sent before anybody knew. The merchant owes it, and nothing more is refunded."""
    collection = await steps.collected()
    first = await steps.refunded(collection, status=F)
    second = await steps.sent(collection)
    await steps.contradict(first, is_paid=True)
    with pytest.raises(RefundInProgress):
        await steps.ask(collection)
    await steps.report(second, Verdict.CONFIRMED)

    assert await steps.refunded_amount(collection) == 10_000
    assert await steps.value("SELECT owed FROM wallets WHERE merchant_id = $1", steps.merchant_id) == 5000
    with pytest.raises(AlreadyRefunded):
        await steps.ask(collection)
    await database_facts.assert_clean(steps.database)


async def test_a_collection_that_its_network_took_back_is_not_refunded(steps: RefundSteps) -> None:
    collection = await steps.collected()
    await steps.contradict(collection, is_paid=False)
    with pytest.raises(NotRefundable, match="taken this payment back"):
        await steps.ask(collection)
    await steps.contradict(collection, is_paid=True)
    assert (await steps.refunded(collection)).amount == 5000
    await database_facts.assert_clean(steps.database)


async def test_a_collection_that_was_failed_and_is_credited_after_all_is_refunded(steps: RefundSteps) -> None:
    collection = await steps.ended(Type.COLLECTION, F, 5000)
    with pytest.raises(NotRefundable, match="FAILED"):
        await steps.ask(collection)
    await steps.contradict(collection, is_paid=True)
    assert (await steps.refunded(collection)).amount == 5000
    await database_facts.assert_clean(steps.database)


@pytest.mark.parametrize("subject", ["an earlier refund was paid", "the collection was taken back"])
async def test_a_refund_that_still_waits_is_not_sent_when_the_money_is_gone(steps: RefundSteps, subject: str) -> None:
    """A channel that is held, or down, for hours: what is learned meanwhile counts."""
    await steps.charge_fees()
    collection = await steps.collected()
    first = await steps.refunded(collection, status=F)
    waiting = await steps.refund(collection)
    if subject == "an earlier refund was paid":
        await steps.contradict(first, is_paid=True)
    else:
        await steps.contradict(collection, is_paid=False)

    claimed = await steps.claim()

    assert claimed.to_send == []
    assert [each.id for each in claimed.lapsed] == [waiting.id]
    assert await steps.status(waiting) is X
    available, in_flight = await database_facts.wallet(steps.database, steps.merchant_id)
    assert (available, in_flight) == (1_000_000 + 5000 - 30, 0)
    assert await steps.value("SELECT actor FROM audit_log WHERE action = 'refund.withheld'") == "malipo"
    await database_facts.assert_clean(steps.database)


async def test_a_refund_that_was_claimed_and_not_sent_is_not_sent_either(steps: RefundSteps) -> None:
    collection = await steps.collected()
    first = await steps.refunded(collection, status=F)
    claimed = await steps.sent(collection)
    async with steps.database.begin() as tx:
        await tx.execute(
            "UPDATE dispatches SET next_action = 'send', send_count = 0, due_at = now() WHERE transaction_id = $1",
            claimed.id,
        )
    await steps.contradict(first, is_paid=True)

    assert [each.id for each in (await steps.claim()).lapsed] == [claimed.id]
    assert await steps.status(claimed) is F
    await database_facts.assert_clean(steps.database)


async def test_a_refund_of_the_rest_is_sent_beside_what_was_paid_after_all(steps: RefundSteps) -> None:
    collection = await steps.collected()
    first = await steps.refunded(collection, 2000, status=F)
    waiting = await steps.refund(collection, 3000)
    await steps.contradict(first, is_paid=True)
    assert [each.id for each in (await steps.claim()).to_send] == [waiting.id]


async def test_a_refund_that_the_network_may_have_is_never_given_up(steps: RefundSteps) -> None:
    collection = await steps.collected()
    first = await steps.refunded(collection, status=F)
    sent = await steps.sent(collection)
    await steps.contradict(first, is_paid=True)
    await steps.report(sent, Verdict.UNKNOWN)
    assert (await steps.claim()).lapsed == []
    assert await steps.status(sent) is Status.PROCESSING


async def test_a_pending_refund_that_is_cancelled_frees_what_it_held_once(steps: RefundSteps) -> None:
    collection = await steps.collected()
    refund = await steps.refund(collection)
    for _ in range(2):
        await steps.service.payments.cancel(Cancellation(steps.merchant_id, refund.id))
    assert await database_facts.wallet(steps.database, steps.merchant_id) == (1_005_000, 0)
    again = await steps.refund(collection)
    assert again.network_key == refund.network_key, "the key was never sent, and is used now"
    assert again.reference != refund.reference
    assert await steps.value("SELECT network_key FROM transactions WHERE id = $1", refund.id) == refund.id
    await database_facts.assert_clean(steps.database)

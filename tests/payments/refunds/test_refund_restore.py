"""Refunds that a restore has lost: every way to repeat one meets the network key of the first."""

import pytest

from malipo import clock
from malipo.errors import Conflict
from malipo.networks.connector import Verdict
from malipo.payments import network_keys
from malipo.payments.dispatch import AnswerSource, ReviewReason
from malipo.payments.store import adopted_payments
from malipo.payments.transaction import NoSuchTransaction, Status, Transaction, Type
from malipo.restore.store import installation
from tests.journeys import database_facts
from tests.payments.refunds.refund_steps import RefundSteps
from tests.payments.refunds.refund_steps import steps as steps
from tests.restore.operators import ASHA, ask_first, fence, let_go


async def _forget(steps: RefundSteps, *refunds: Transaction) -> None:
    """As if the database had been restored to before these."""
    async with steps.database.begin() as tx:
        for refund in refunds:
            moved = await tx.fetchval(
                """
                SELECT sum(CASE 'wallet' WHEN source THEN amount WHEN target THEN -amount ELSE 0 END)::bigint
                FROM moves WHERE cause_id = $1
                """,
                refund.id,
            )
            await tx.execute(
                """
                UPDATE wallets SET available = available + $2, statement_lines = statement_lines - (
                    SELECT count(*) FROM moves WHERE cause_id = $3 AND statement_line IS NOT NULL),
                    in_flight = 0
                WHERE merchant_id = $1
                """,
                steps.merchant_id,
                moved,
                refund.id,
            )
            for table, column in (
                ("moves", "cause_id"),
                ("dispatches", "transaction_id"),
                ("network_answers", "transaction_id"),
                ("events", "transaction_id"),
                ("idempotency_keys", "transaction_id"),
                ("refunds", "refund_id"),
                ("transactions", "id"),
            ):
                await tx.execute(f"DELETE FROM {table} WHERE {column} = $1", refund.id)
        await tx.execute("DELETE FROM events WHERE event = 'payment.refunded'")


async def _paid(steps: RefundSteps, opened: Transaction) -> Transaction:
    [sent] = (await steps.claim()).to_send
    assert sent.id == opened.id
    return (await steps.report(sent, Verdict.CONFIRMED, AnswerSource.SEND)).transaction


async def _restored(steps: RefundSteps) -> None:
    await fence(steps)
    assert await let_go(steps, ASHA, is_single_operator=True)


async def test_the_key_comes_from_the_collection_and_the_number_of_the_refund(steps: RefundSteps) -> None:
    collection = await steps.collected()
    refunds = [await steps.refunded(collection, 1000, status=status) for status in (Status.FAILED, Status.COMPLETED)]
    async with steps.database.read() as connection:
        secret = (await installation.get(connection)).key_secret
    for number, refund in enumerate(refunds, start=1):
        key = network_keys.derive(secret, steps.merchant_id, "REFUND", collection.network_key, str(number))
        assert (refund.network_key, refund.reference) == (key, f"MLP-{key}")


@pytest.mark.parametrize("key", [None, "another-key"])
@pytest.mark.parametrize(
    ("told_amount", "expected"), [(5000, Status.COMPLETED), (500, Status.PROCESSING), (None, Status.PENDING)]
)
async def test_a_refund_that_was_lost_is_asked_about_and_not_paid_again(
    steps: RefundSteps, key: str | None, told_amount: int | None, expected: Status
) -> None:
    """Somebody sees that it was not refunded, and does it once more, with whatever Idempotency-Key. If the network does
    not say how much it has paid, it may have been a part (seed 220038): operators look into the statement."""
    collection = await steps.collected()
    lost = (await steps.ask(collection, key="return-1")).transaction
    await steps.claim()
    await _forget(steps, lost)
    await _restored(steps)

    again = (await steps.ask(collection, key=key)).transaction

    assert (again.network_key, again.reference) == (lost.network_key, lost.reference)
    assert (await steps.claim()).to_send == [], "the network is asked first"
    assert [each.id for each in await ask_first(steps)] == [again.id]
    for _ in range(2):
        await steps.report(again, Verdict.CONFIRMED, amount=told_amount)
    assert await steps.status(again) is expected
    assert await steps.refunded_amount(collection) == (5000 if told_amount == 5000 else 0)
    dispatch = await steps.dispatch(again)
    review_reason = None if dispatch is None else dispatch.review_reason
    assert review_reason == {5000: None, 500: ReviewReason.DIFFERS, None: ReviewReason.RESTORED}[told_amount]
    await database_facts.assert_clean(steps.database)


async def test_a_refund_that_was_lost_together_with_its_collection_has_the_same_key_again(steps: RefundSteps) -> None:
    """The repeated collection has another id. The refund's key followed from that, and it was paid twice."""
    collection = await _paid(steps, await steps.open(Type.COLLECTION, 5000, key="order-1"))
    lost = await steps.sent(collection)
    await _forget(steps, lost, collection)
    await _restored(steps)

    repeated = await steps.open(Type.COLLECTION, 5000, key="order-1")
    assert repeated.network_key == collection.network_key
    assert repeated.id != collection.id
    for _ in range(2):
        await steps.report(repeated, Verdict.CONFIRMED)
    again = await steps.refund(repeated)

    assert (again.network_key, again.reference) == (lost.network_key, lost.reference)
    assert (await steps.claim()).to_send == [], "the network is asked first"
    assert again.id in [each.id for each in await ask_first(steps)]


async def test_a_collection_from_before_the_upgrade_has_refunds_with_the_keys_of_the_older_version(
    steps: RefundSteps,
) -> None:
    """That version may have sent one, and a restore may have lost it: with another key it would be paid again."""
    collection = await steps.collected()
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE installation SET refund_keys_since = now() + interval '1 hour'")
    async with steps.database.read() as connection:
        secret = (await installation.get(connection)).key_secret
    refund = await steps.refund(collection)
    assert refund.network_key == network_keys.derive(secret, steps.merchant_id, "REFUND", collection.id, "1")


@pytest.mark.parametrize(
    ("days_after_the_restore", "is_adopted", "asked"), [(-1, False, 1), (6, False, 1), (8, False, 0), (20, True, 1)]
)
async def test_a_refund_of_a_collection_that_may_have_been_lost_is_asked_about_however_late(
    steps: RefundSteps, days_after_the_restore: int, is_adopted: bool, asked: int
) -> None:
    """Its key was derived, and perhaps sent, in the lost time. A customer may complain after weeks. A collection may
    have been repeated in the week after the restore, or adopted when its statement came."""
    collection = await steps.collected()
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE installation SET epoch = 2, epoch_began_at = now() - interval '40 days'")
        await tx.execute(
            "UPDATE transactions SET created_at = now() - make_interval(days => 40 - $1)", days_after_the_restore
        )
        if is_adopted:
            await adopted_payments.insert(tx, collection, 1, is_repeat_recognized=True, now=clock.now())
    refund = await steps.refund(collection)
    assert [each.id for each in await ask_first(steps)] == [refund.id] * asked
    assert [each.id for each in (await steps.claim()).to_send] == [refund.id] * (1 - asked)


async def test_a_refund_that_was_lost_with_a_cancelled_one_before_it_has_the_same_key_again(steps: RefundSteps) -> None:
    """If the cancelled one had used a number up, the repeated refund would have the first key, and be paid again."""
    collection = await steps.collected()
    cancelled = await steps.refunded(collection, status=Status.CANCELLED)
    paid = await steps.refunded(collection)
    assert paid.network_key == cancelled.network_key
    await _forget(steps, paid, cancelled)
    assert (await steps.refund(collection)).network_key == paid.network_key


async def test_a_refund_that_operators_took_from_a_statement_is_not_made_again(steps: RefundSteps) -> None:
    collection = await steps.collected()
    lost = await steps.refunded(collection)
    await _forget(steps, lost)
    adopted = await steps.collected()
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE transactions SET network_key = $2 WHERE id = $1", adopted.id, lost.network_key)

    with pytest.raises(Conflict) as caught:
        await steps.ask(collection)
    assert caught.value.code == "already_refunded"
    assert await database_facts.count(steps.database, "refunds") == 0


async def test_a_refund_of_a_collection_that_is_lost_meanwhile_is_of_no_transaction(steps: RefundSteps) -> None:
    """It was looked up before the database was restored, and is locked afterwards. It was a 500."""
    collection = await steps.collected()
    await _forget(steps, collection)
    with pytest.raises(NoSuchTransaction):
        await steps.ask(collection)

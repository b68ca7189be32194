"""Adopting lines of batches whose approval was lost, and lost refunds: the rest is paid, and each once."""

import pytest

from malipo import clock
from malipo.errors import Conflict, Invalid
from malipo.installation import network_keys
from malipo.installation.store import installation
from malipo.networks.connector import Verdict
from malipo.payments.batches.store.batches import complete_ended
from malipo.payments.refunds import reserve
from malipo.payments.resolution import ResolvedOutcome
from malipo.payments.transaction import Status, Type
from malipo.reconciliation.exception import Action
from tests.conftest import make_merchant
from tests.payments.batches.batch_steps import BatchSteps
from tests.payments.payment_steps import steps
from tests.payments.refunds.refund_steps import RefundSteps
from tests.reconciliation.lost_requests import Lost
from tests.reconciliation.statement_days import Entry, Statements, statements
from tests.reconciliation.test_resolve_exceptions import Desk, desk

__all__ = ["desk", "statements", "steps"]


async def test_a_batch_whose_approval_was_lost_is_approved_again_without_what_was_adopted(
    statements: Statements, desk: Desk
) -> None:
    batches = BatchSteps(statements.steps.service, statements.steps.merchant_id)
    batch = await batches.make(3)
    async with statements.database.read() as connection:
        rows = await connection.fetch("SELECT * FROM batch_items ORDER BY item_index")
    paid = rows[1]
    await statements.take(Entry("QK1", -paid["amount"], clock.now(), key=paid["network_key"], phone="255750***"))
    [found] = await statements.open_exceptions()
    lost = Lost(statements, desk, Type.DISBURSEMENT)
    await lost.adopt(found)
    before = await lost.held()

    running = await batches.approve(batch)

    assert await lost.held() == before - rows[0]["amount"] - rows[2]["amount"], "what is paid is not reserved again"
    claimed = [each.network_key for each in (await statements.steps.claim()).to_send]
    assert sorted(claimed) == sorted([rows[0]["network_key"], rows[2]["network_key"]])
    shown = await batches.lines(running)
    assert [line.payout.status for line in shown if line.payout] == ["PROCESSING", "COMPLETED", "PROCESSING"]
    assert shown[1].payout is not None
    assert shown[1].payout.phone == paid["phone"], "as the batch has it"
    progress = await batches.look(running)
    assert progress.counts == {Status.PROCESSING: 2, Status.COMPLETED: 1}
    for line in (shown[0], shown[2]):
        assert line.payout is not None
        await statements.steps.hear(line.payout, Verdict.CONFIRMED)
    async with statements.database.begin() as tx:
        assert await complete_ended(tx, most=10) == 1
    assert (await batches.look(running)).batch.status == "COMPLETED"
    await statements.check_ledger()


async def test_a_batch_of_which_every_line_was_adopted_is_complete(statements: Statements, desk: Desk) -> None:
    batches = BatchSteps(statements.steps.service, statements.steps.merchant_id)
    batch = await batches.make(1)
    async with statements.database.read() as connection:
        row = await connection.fetchrow("SELECT * FROM batch_items")
    assert row is not None
    await statements.take(Entry("QK1", -row["amount"], clock.now(), key=row["network_key"]))
    [found] = await statements.open_exceptions()
    await Lost(statements, desk, Type.DISBURSEMENT).adopt(found)
    running = await batches.approve(batch)
    assert (await batches.look(running)).batch.status == "COMPLETED"
    async with statements.database.begin() as tx:
        assert await complete_ended(tx, most=10) == 1


async def test_a_line_of_a_batch_is_adopted_only_for_its_merchant_and_amount(
    statements: Statements, desk: Desk
) -> None:
    batches = BatchSteps(statements.steps.service, statements.steps.merchant_id)
    await batches.make(1)
    async with statements.database.read() as connection:
        row = await connection.fetchrow("SELECT * FROM batch_items")
    assert row is not None
    await make_merchant(statements.database, wallet=10_000, name="Soko")
    now = clock.now()
    await statements.take(
        Entry("QK1", -row["amount"], now, key=row["network_key"]), Entry("QK2", -900, now, key=f"M{row['network_key']}")
    )
    for found in await statements.open_exceptions():
        lost = Lost(statements, desk, Type.DISBURSEMENT)
        terms = {"merchant": "Soko"} if found.receipt == "QK1" else {}
        with pytest.raises(Invalid, match="batch"):
            await lost.propose(found, **terms)


@pytest.mark.parametrize("is_named", [False, True], ids=["found by its key", "named by operators"])
async def test_a_lost_refund_is_adopted_as_one_and_the_rest_can_be_refunded(
    statements: Statements, desk: Desk, is_named: bool
) -> None:
    refunds = RefundSteps(statements.steps.service, statements.steps.merchant_id)
    collection = await refunds.collected(5_000)
    async with statements.database.read() as connection:
        secret = (await installation.get(connection)).key_secret
    key = network_keys.derive(secret, refunds.merchant_id, "REFUND", collection.id, "2")
    await statements.take(
        Entry("QK0", 5_000, clock.now(), key=collection.network_key),
        Entry("QK1", -1_000, clock.now(), key="" if is_named else key, phone="255754***001"),
    )
    [found] = await statements.open_exceptions()
    lost = Lost(statements, desk, Type.DISBURSEMENT, amount=1_000)
    named = {"refund_of": collection.reference} if is_named else {}
    await lost.adopt(found, phone=collection.phone, **named)

    assert await refunds.refunded_amount(collection) == 1_000
    repeat = await refunds.refund(collection, 1_000)
    dispatch = await refunds.dispatch(repeat)
    assert dispatch is not None
    assert dispatch.attention == "resembles_adopted", "it may be the repeat of the lost one"
    assert (await refunds.claim()).to_send == []
    await lost.decide(repeat, ResolvedOutcome.FAILED)
    rest = await refunds.refunded(collection, 4_000)
    assert rest.network_key != key
    assert await refunds.refunded_amount(collection) == 5_000
    await statements.check_ledger()


async def test_a_lost_refund_with_its_idempotency_key_is_answered_when_it_is_repeated(
    statements: Statements, desk: Desk
) -> None:
    refunds = RefundSteps(statements.steps.service, statements.steps.merchant_id)
    collection = await refunds.collected(5_000)
    await statements.take(
        Entry("QK0", 5_000, clock.now(), key=collection.network_key),
        Entry("QK1", -1_000, clock.now(), key="", phone="255754***001"),
    )
    [found] = await statements.open_exceptions()
    lost = Lost(statements, desk, Type.DISBURSEMENT, amount=1_000)
    await lost.adopt(found, refund_of=collection.reference, idempotency_key="return-1")
    again = await refunds.ask(collection, 1_000, key="return-1")
    assert (again.is_replay, again.transaction.refund_of) == (True, collection.id)
    other = await refunds.ask(collection, 1_000, key="return-2")
    assert not other.is_replay
    assert [each.id for each in (await refunds.claim()).to_send] == [other.transaction.id]


async def test_an_earlier_refund_that_is_repeated_when_a_later_one_was_adopted_has_the_key_that_was_paid(
    statements: Statements, desk: Desk
) -> None:
    """Both were lost, and both are paid. The network is asked about the first: under a third key it would pay again."""
    refunds = RefundSteps(statements.steps.service, statements.steps.merchant_id)
    collection = await refunds.collected(5_000)
    async with statements.database.read() as connection:
        secret = (await installation.get(connection)).key_secret
    first, second = (reserve.key_of(secret, refunds.merchant_id, collection.id, number) for number in (1, 2))
    await statements.take(
        Entry("QK0", 5_000, clock.now(), key=collection.network_key),
        Entry("QK2", -3_000, clock.now(), key=second, phone="255754***001"),
    )
    [found] = await statements.open_exceptions()
    lost = Lost(statements, desk, Type.DISBURSEMENT, amount=3_000)
    await lost.adopt(found, phone=collection.phone, idempotency_key="rest-1")
    assert (await refunds.ask(collection, 2_000, key="part-1")).transaction.network_key == first
    assert (await refunds.ask(collection, 3_000, key="rest-1")).transaction.network_key == second


async def test_an_item_whose_line_is_adopted_again_after_the_approval_shows_that_payment(
    statements: Statements, desk: Desk
) -> None:
    """While nobody knows whose the line is, the batch is not approved; then its item follows the adoption."""
    batches = BatchSteps(statements.steps.service, statements.steps.merchant_id)
    batch = await batches.make(2)
    async with statements.database.read() as connection:
        paid = await connection.fetchrow("SELECT * FROM batch_items WHERE item_index = 1")
    assert paid is not None
    await statements.take(Entry("QK1", -paid["amount"], clock.now(), key=paid["network_key"]))
    [found] = await statements.open_exceptions()
    lost = Lost(statements, desk, Type.DISBURSEMENT)
    for is_approved in (False, True):
        await lost.adopt(found)
        if is_approved:
            batch = await batches.approve(batch)
        await desk.undo(found)
        await desk.approve(found)
        if not is_approved:
            with pytest.raises(Conflict, match="Item 2"):
                await batches.approve(batch)
    await lost.adopt(found)
    shown = (await batches.lines(batch))[1].payout
    assert shown is not None
    assert shown.network_key == paid["network_key"]
    assert await statements.steps.correction(shown) is None
    claimed = [each.network_key for each in (await statements.steps.claim()).to_send]
    assert len(claimed) == 1
    assert paid["network_key"] not in claimed
    await statements.check_ledger()


@pytest.mark.parametrize("then", ["adopted", "booked"])
async def test_while_an_adopted_refund_is_undone_nothing_of_its_collection_is_refunded(
    statements: Statements, desk: Desk, then: str
) -> None:
    """The next refund would have another network key, and be paid beside the lost one."""
    refunds = RefundSteps(statements.steps.service, statements.steps.merchant_id)
    collection = await refunds.collected(5_000)
    await statements.take(
        Entry("QK0", 5_000, clock.now(), key=collection.network_key),
        Entry("QK1", -1_000, clock.now(), phone="255754***001"),
    )
    [found] = await statements.open_exceptions()
    lost = Lost(statements, desk, Type.DISBURSEMENT, amount=1_000)
    await lost.adopt(found, refund_of=collection.reference)
    await desk.undo(found)
    await desk.approve(found)
    assert await refunds.refunded_amount(collection) == 0
    with pytest.raises(Conflict, match="finding out"):
        await refunds.ask(collection, 1_000, key="return-1")
    if then == "adopted":
        await lost.adopt(found, refund_of=collection.reference, idempotency_key="return-1")
    else:
        await desk.propose(found, Action.BOOK, {"account": "losses"})
        await desk.approve(found)
    again = await refunds.ask(collection, 1_000, key="return-1")
    assert again.is_replay == (then == "adopted")
    assert reserve.is_key_of(
        await secret_of(statements), refunds.merchant_id, collection.id, again.transaction.network_key
    )
    await statements.match()
    assert await statements.kinds() == []
    await statements.check_ledger()


async def secret_of(statements: Statements) -> bytes:
    async with statements.database.read() as connection:
        return (await installation.get(connection)).key_secret

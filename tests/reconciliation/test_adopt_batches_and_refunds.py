"""Adopting lines of batches whose approval was lost, and lost refunds: the rest is paid, and each once."""

import asyncio
from datetime import timedelta

import pytest

from malipo import clock
from malipo.errors import Conflict, Invalid
from malipo.networks.connector import Verdict
from malipo.payments import network_keys
from malipo.payments.batches.approve import Approval, ApprovedBatch
from malipo.payments.batches.batch import Batch
from malipo.payments.batches.store.batches import complete_ended
from malipo.payments.cases.resolution import ResolvedOutcome
from malipo.payments.refunds.refund_network_keys import RefundKeys
from malipo.payments.transaction import Status, Type
from malipo.reconciliation.exceptions.action import Action
from malipo.restore.store import installation
from tests.conftest import make_merchant
from tests.db.lock_waits import are_waiting
from tests.journeys.full_stack import until
from tests.payments.batches.batch_steps import JUMA, BatchSteps
from tests.payments.payment_steps import steps
from tests.payments.refunds.refund_steps import RefundSteps
from tests.reconciliation.exception_desk import ExceptionDesk, desk
from tests.reconciliation.lost_requests import PHONE, Lost
from tests.reconciliation.statement_days import Entry, Statements, statements

__all__ = ["desk", "statements", "steps"]


async def test_a_batch_whose_approval_was_lost_is_approved_again_without_what_was_adopted(
    statements: Statements, desk: ExceptionDesk
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
        await statements.steps.report(line.payout, Verdict.CONFIRMED)
    async with statements.database.begin() as tx:
        assert len(await complete_ended(tx, most=10)) == 1
    assert (await batches.look(running)).batch.status == "COMPLETED"
    await statements.check_ledger()


async def _approve_once(batches: BatchSteps, batch: Batch) -> Batch:
    approved = await batches.service.batches._approve(Approval(batches.merchant_id, batch.id, JUMA))
    assert isinstance(approved, ApprovedBatch)
    return approved.batch


async def _until_wait(statements: Statements, number: int) -> None:
    await until(lambda: are_waiting(statements.database, number), pause=0.02, what="waiting for the wallet")


@pytest.mark.parametrize("in_one_try", [False, True])
async def test_a_batch_is_approved_while_operators_adopt_one_of_its_lines(
    statements: Statements, desk: ExceptionDesk, *, in_one_try: bool
) -> None:
    """Both wait for the wallet: the approval has looked for adopted lines before, and the adoption is first. The first
    try succeeds: while it is tried once more, the next line could be adopted."""
    batches = BatchSteps(statements.steps.service, statements.steps.merchant_id)
    batch = await batches.make(2)
    async with statements.database.read() as connection:
        [_, paid] = await connection.fetch("SELECT * FROM batch_items ORDER BY item_index")
    await statements.take(Entry("QK1", -paid["amount"], clock.now(), key=paid["network_key"], phone="255750***"))
    [found] = await statements.open_exceptions()
    lost = Lost(statements, desk, Type.DISBURSEMENT)
    await lost.propose(found)
    async with statements.database.begin() as tx:
        await tx.execute("SELECT FROM wallets WHERE merchant_id = $1 FOR UPDATE", lost.merchant_id)
        adopting = asyncio.ensure_future(desk.approve(found))
        await _until_wait(statements, 1)
        approving = asyncio.ensure_future(_approve_once(batches, batch) if in_one_try else batches.approve(batch))
        await _until_wait(statements, 2)
    assert (await adopting).state == "resolved"
    running = await approving

    shown = await batches.lines(running)
    assert [line.payout.status for line in shown if line.payout] == ["PENDING", "COMPLETED"]
    await statements.check_ledger()


async def test_an_adoption_that_comes_after_the_approval_of_its_batch_is_refused_with_a_sentence(
    statements: Statements, desk: ExceptionDesk
) -> None:
    """Both wait for the wallet: the adoption has looked for payments before, and the approval is first."""
    batches = BatchSteps(statements.steps.service, statements.steps.merchant_id)
    batch = await batches.make(2)
    async with statements.database.read() as connection:
        [_, paid] = await connection.fetch("SELECT * FROM batch_items ORDER BY item_index")
    await statements.take(Entry("QK1", -paid["amount"], clock.now(), key=paid["network_key"], phone="255750***"))
    [found] = await statements.open_exceptions()
    lost = Lost(statements, desk, Type.DISBURSEMENT)
    await lost.propose(found)
    async with statements.database.begin() as tx:
        await tx.execute("SELECT FROM wallets WHERE merchant_id = $1 FOR UPDATE", lost.merchant_id)
        approving = asyncio.ensure_future(batches.approve(batch))
        await _until_wait(statements, 1)
        adopting = asyncio.ensure_future(desk.approve(found))
        await _until_wait(statements, 2)
    running = await approving
    with pytest.raises(Conflict, match="match_another_has_key"):
        await adopting

    shown = await batches.lines(running)
    assert [line.payout.status for line in shown if line.payout] == ["PENDING", "PENDING"]
    [still] = await statements.open_exceptions()
    assert still.state == "proposed", "nothing of the adoption is kept"
    await statements.check_ledger()


async def test_a_batch_of_which_every_line_was_adopted_is_complete(statements: Statements, desk: ExceptionDesk) -> None:
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
        assert len(await complete_ended(tx, most=10)) == 1


async def test_a_line_of_a_batch_is_adopted_only_for_its_merchant_and_amount(
    statements: Statements, desk: ExceptionDesk
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
        with pytest.raises(Invalid, match="adopt_of_batch"):
            await lost.propose(found, **terms)


@pytest.mark.parametrize("is_named", [False, True], ids=["found by its key", "named by operators"])
async def test_a_lost_refund_is_adopted_as_one_and_the_rest_can_be_refunded(
    statements: Statements, desk: ExceptionDesk, is_named: bool
) -> None:
    refunds = RefundSteps(statements.steps.service, statements.steps.merchant_id)
    collection = await refunds.collected(5_000)
    key = (await keys_of(statements)).key_of(collection, 2)
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
    assert dispatch.review_reason == "resembles_adopted", "it may be the repeat of the lost one"
    assert (await refunds.claim()).to_send == []
    await lost.decide(repeat, ResolvedOutcome.FAILED)
    rest = await refunds.refunded(collection, 4_000)
    assert rest.network_key != key
    assert await refunds.refunded_amount(collection) == 5_000
    await statements.check_ledger()


async def test_a_lost_refund_with_its_idempotency_key_is_answered_when_it_is_repeated(
    statements: Statements, desk: ExceptionDesk
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


@pytest.mark.parametrize(("has_key", "is_known"), [(True, False), (False, True), (False, False)])
async def test_the_lost_refund_of_a_collection_that_was_adopted_is_not_sent_again(
    statements: Statements, desk: ExceptionDesk, has_key: bool, is_known: bool
) -> None:
    """Both are lost and paid. With the collection's network key, from its line or from the merchant's Idempotency-Key,
    the repeated refund has the key that was paid. Without it nobody can know, and the refund waits for operators."""
    refunds = RefundSteps(statements.steps.service, statements.steps.merchant_id)
    lost = Lost(statements, desk, Type.COLLECTION)
    paid = network_keys.derive(
        (await keys_of(statements)).secret, lost.merchant_id, "REFUND", await lost.network_key(), "1"
    )
    found = await lost.on_statement(**({} if has_key else {"key": ""}))
    await lost.adopt(found, phone=PHONE, **({"idempotency_key": lost.key} if is_known else {}))
    async with statements.database.read() as connection:
        id_ = await connection.fetchval("SELECT id FROM transactions")
    repeat = await refunds.refund(await refunds.seen_by_id(id_))
    dispatch = await refunds.dispatch(repeat)
    assert dispatch is not None
    is_certain = has_key or is_known
    assert (repeat.network_key == paid) is is_certain
    assert dispatch.review_reason == (None if is_certain else "resembles_adopted")
    assert len((await refunds.claim()).to_send) == int(is_certain)


async def test_the_line_of_a_lost_refund_is_recognized_when_its_collection_was_adopted_later(
    statements: Statements, desk: ExceptionDesk
) -> None:
    refunds = RefundSteps(statements.steps.service, statements.steps.merchant_id)
    lost = Lost(statements, desk, Type.COLLECTION)
    await lost.adopt(await lost.on_statement(), phone=PHONE)
    async with statements.database.read() as connection:
        id_ = await connection.fetchval("SELECT id FROM transactions")
    collection = await refunds.seen_by_id(id_)
    key = (await keys_of(statements)).key_of(collection, 1)
    # The refund went out before the collection was adopted, long before.
    await statements.take(Entry("QK2", -1_000, clock.now() - timedelta(days=6), key=key, phone=PHONE))
    [found] = await statements.open_exceptions()
    await Lost(statements, desk, Type.DISBURSEMENT, amount=1_000).adopt(found, phone=PHONE)
    assert await refunds.refunded_amount(collection) == 1_000
    await statements.check_ledger()


@pytest.mark.parametrize(
    ("status", "amount", "named", "unnamed"),
    [
        (Status.COMPLETED, 5_000, "refund", "refund"),
        (Status.COMPLETED, 5_001, "adopt_collection_used_up", "payout"),
        (Status.FAILED, 5_000, "adopt_collection_not_paid", "payout"),
        (Status.CANCELLED, 5_000, "adopt_collection_not_paid", "payout"),
        (Status.PROCESSING, 5_000, "adopt_collection_open", "adopt_collection_open"),
    ],
)
@pytest.mark.parametrize("is_named", [True, False])
async def test_only_of_a_collection_that_was_paid_a_lost_payout_is_a_refund(
    statements: Statements, desk: ExceptionDesk, status: Status, amount: int, named: str, unnamed: str, is_named: bool
) -> None:
    """Seed 17: the network took the collection back, and the merchant gave it back too. The book was not clean."""
    refunds = RefundSteps(statements.steps.service, statements.steps.merchant_id)
    if status is Status.PROCESSING:
        collection = await refunds.send(Type.COLLECTION, 5_000)
    else:
        collection = await refunds.ended(Type.COLLECTION, status, 5_000)
    key = (await keys_of(statements)).key_of(collection, 1)
    await statements.take(Entry("QK1", -amount, clock.now(), key=key, phone=PHONE))
    [found] = [each for each in await statements.open_exceptions() if each.kind == "theirs_only"]
    lost = Lost(statements, desk, Type.DISBURSEMENT, amount=amount)
    terms = {"phone": collection.phone} | ({"refund_of": collection.reference} if is_named else {})
    expected = named if is_named else unnamed
    if expected in ("refund", "payout"):
        await lost.adopt(found, **terms)
        assert await refunds.refunded_amount(collection) == (amount if expected == "refund" else 0)
    else:
        with pytest.raises(Conflict, match=expected):
            await lost.propose(found, **terms)
    await statements.check_ledger()


async def test_an_earlier_refund_that_is_repeated_when_a_later_one_was_adopted_has_the_key_that_was_paid(
    statements: Statements, desk: ExceptionDesk
) -> None:
    """Both were lost, and both are paid. The network is asked about the first: under a third key it would pay again."""
    refunds = RefundSteps(statements.steps.service, statements.steps.merchant_id)
    collection = await refunds.collected(5_000)
    keys = await keys_of(statements)
    first, second = (keys.key_of(collection, number) for number in (1, 2))
    await statements.take(
        Entry("QK0", 5_000, clock.now(), key=collection.network_key),
        Entry("QK2", -3_000, clock.now(), key=second, phone="255754***001"),
    )
    [found] = await statements.open_exceptions()
    lost = Lost(statements, desk, Type.DISBURSEMENT, amount=3_000)
    await lost.adopt(found, phone=collection.phone, idempotency_key="rest-1")
    assert (await refunds.ask(collection, 2_000, key="part-1")).transaction.network_key == first
    assert (await refunds.ask(collection, 3_000, key="rest-1")).transaction.network_key == second


@pytest.mark.parametrize("shows_key", [True, False])
async def test_the_line_of_a_lost_refund_is_not_matched_with_one_of_another_amount_that_has_its_key(
    statements: Statements, desk: ExceptionDesk, shows_key: bool
) -> None:
    """Seed 320461: a part was refunded and lost, and the refund of all of it has the key of the part. It was told as
    paid, and what the amounts differ by was booked to suspense: the customer lacked it."""
    refunds = RefundSteps(statements.steps.service, statements.steps.merchant_id)
    collection = await refunds.collected(5_000)
    key = (await keys_of(statements)).key_of(collection, 1)
    whole = (await refunds.ask(collection, 5_000, key="once-1")).transaction
    assert whole.network_key == key
    await statements.steps.claim()
    line = Entry("QK1", -2_000, clock.now(), key=key if shows_key else "", phone=PHONE)
    await statements.take(Entry("QK0", 5_000, clock.now(), key=collection.network_key), line)
    [found] = [each for each in await statements.open_exceptions() if each.receipt == "QK1"]
    with pytest.raises(Conflict, match="match_refund_amount"):
        await desk.propose(found, Action.MATCH, {"payment": whole.reference})
    assert await statements.status(whole) is Status.PROCESSING
    await statements.check_ledger()


@pytest.mark.parametrize("words", ["Sweep of the yard", "Monthly fee, given back"])
async def test_the_line_of_a_lost_refund_is_not_booked_by_its_words_while_another_has_its_key(
    statements: Statements, words: str
) -> None:
    """Seed 351062: no network charges for a payment that it has not paid, and no sweep has our key."""
    refunds = RefundSteps(statements.steps.service, statements.steps.merchant_id)
    collection = await refunds.collected(5_000)
    whole = (await refunds.ask(collection, 5_000, key="once-1")).transaction
    await statements.steps.claim()
    line = Entry("QK1", -2_000, clock.now(), words, key=whole.network_key, phone=PHONE)
    done = await statements.take(Entry("QK0", 5_000, clock.now(), key=collection.network_key), line)
    assert (done.booked_fees, done.booked_sweeps) == (0, 0)
    found = await statements.open_exceptions()
    assert [(each.kind, each.amount) for each in found if each.receipt] == [("amount_differs", -2_000)]
    await statements.check_ledger()


async def test_a_lost_refund_whose_key_another_one_was_given_meanwhile_is_not_adopted(
    statements: Statements, desk: ExceptionDesk
) -> None:
    refunds = RefundSteps(statements.steps.service, statements.steps.merchant_id)
    collection = await refunds.collected(5_000)
    key = (await keys_of(statements)).key_of(collection, 1)
    await statements.take(
        Entry("QK0", 5_000, clock.now(), key=collection.network_key),
        Entry("QK1", -2_000, clock.now(), key=key, phone=PHONE),
    )
    [found] = await statements.open_exceptions()
    lost = Lost(statements, desk, Type.DISBURSEMENT, amount=2_000)
    await lost.propose(found, phone=collection.phone)
    await refunds.ask(collection, 5_000, key="once-1")
    with pytest.raises(Conflict, match=r"adopt_key_of_other_amount .* amount=5000"):
        await desk.approve(found)


async def test_an_item_whose_line_is_adopted_again_after_the_approval_shows_that_payment(
    statements: Statements, desk: ExceptionDesk
) -> None:
    """While nobody knows whose the line is, the batch is not approved; then its item follows the adoption."""
    batches = BatchSteps(statements.steps.service, statements.steps.merchant_id)
    batch = await batches.make(2)
    async with statements.database.read() as connection:
        [_, paid] = await connection.fetch("SELECT * FROM batch_items ORDER BY item_index")
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
    statements: Statements, desk: ExceptionDesk, then: str
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
    assert (await keys_of(statements)).is_key_of(collection, again.transaction.network_key)
    await statements.match()
    assert await statements.kinds() == []
    await statements.check_ledger()


async def keys_of(statements: Statements) -> RefundKeys:
    async with statements.database.read() as connection:
        return RefundKeys.of(await installation.get(connection))

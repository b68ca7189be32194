"""What became true of payments gets exactly one leaf each, whoever has numbered its event, and whenever."""

import asyncio
from collections import Counter
from datetime import timedelta

from malipo import clock
from malipo.networks.connector import Verdict
from malipo.outbox import feed
from malipo.payments.transaction import Status, Type
from malipo.receipts.append import append_new
from malipo.receipts.fact import commitment_of, decode
from malipo.receipts.store import facts
from malipo.worker import rollups
from tests.conftest import make_merchant
from tests.payments.payment_steps import PaymentSteps
from tests.receipts.log_stack import NAME, LogStack, verifier

COMPLETED, FAILED, CANCELLED = Status.COMPLETED, Status.FAILED, Status.CANCELLED
COLLECTION, DISBURSEMENT = Type.COLLECTION, Type.DISBURSEMENT


async def leaves(stack: LogStack) -> list[tuple[str, str, int]]:
    rows = await stack.rows("SELECT subject_id, kind, ordinal FROM receipt_facts ORDER BY log_number, leaf_index")
    return [(row[0], row[1], row[2]) for row in rows]


async def assert_whole(stack: LogStack) -> None:
    """No gaps, the size is right, each entry is of its fact."""
    rows = await stack.rows("SELECT * FROM receipt_facts ORDER BY log_number, leaf_index")
    log = await stack.log()
    of_log = [row["leaf_index"] for row in rows if row["log_number"] == log.number]
    assert of_log == list(range(1, log.size))
    for row in rows:
        assert commitment_of(row["salt"], row["fact"]) == row["entry"]
        fact = decode(row["fact"])
        assert (fact.payment, fact.subject, fact.fact) == (row["transaction_id"], row["subject_id"], row["kind"])
        assert (fact.ordinal or 1) == row["ordinal"]
    assert len({row["salt"] for row in rows}) == len(rows)


async def test_what_is_completed_gets_a_leaf_and_nothing_else(stack: LogStack) -> None:
    paid = await stack.steps.ended(COLLECTION, COMPLETED)
    await stack.steps.ended(COLLECTION, FAILED)
    await stack.steps.ended(COLLECTION, CANCELLED)
    sent = await stack.steps.ended(DISBURSEMENT, COMPLETED)
    await stack.steps.ended(DISBURSEMENT, FAILED)
    await stack.number()
    assert await leaves(stack) == [(paid.id, "completed", 1), (sent.id, "completed", 1)]
    await assert_whole(stack)
    log = await stack.log()
    assert (log.size, log.origin, log.genesis) == (3, f"{NAME}/{log.number}", None)


async def test_a_receipt_begins_with_its_completion_however_late_that_was_appended(stack: LogStack) -> None:
    """As of a payment from before the log that is corrected before the log has it. Programs go by the first fact."""
    paid = await stack.steps.contradicted(COLLECTION, COMPLETED)
    await stack.number()
    assert await leaves(stack) == [(paid.id, "completed", 1), (paid.id, "corrected", 1)]
    await stack.execute("UPDATE receipt_facts SET leaf_index = 99 WHERE kind = 'completed'")
    async with stack.database.read() as connection:
        found = await facts.find(connection, paid.merchant_id, paid.id)
    assert [(each.kind, each.place.leaf) for each in found] == [("completed", 99), ("corrected", 2)]


async def test_a_correction_gets_a_leaf_with_its_ordinal(stack: LogStack) -> None:
    wrong = await stack.steps.contradicted(COLLECTION, FAILED)  # It was told FAILED, and is credited.
    await stack.number()
    assert await leaves(stack) == [(wrong.id, "corrected", 1)]
    # Its network reverses that report.
    await stack.steps.report(wrong, Verdict.REFUSED)
    await stack.steps.report(wrong, Verdict.CONFIRMED)
    await stack.number()
    kinds = [(kind, ordinal) for _, kind, ordinal in await leaves(stack)]
    assert kinds == [("corrected", each) for each in range(1, len(kinds) + 1)]
    assert len(kinds) > 1
    await assert_whole(stack)


async def test_events_from_before_it_was_on_are_appended_once_in_their_order(stack: LogStack) -> None:
    other = PaymentSteps(stack.steps.service, (await make_merchant(stack.database)).id)
    before = [await stack.steps.ended(COLLECTION, COMPLETED) for _ in range(3)]
    of_other = await other.ended(COLLECTION, COMPLETED)
    await stack.number(is_on=False)
    after = await stack.steps.ended(COLLECTION, COMPLETED)
    await stack.number()
    ids = [each for each, _, _ in await leaves(stack)]
    assert sorted(ids) == sorted([*(each.id for each in before), of_other.id, after.id])
    assert [each for each in ids if each != of_other.id] == [*(each.id for each in before), after.id]
    await assert_whole(stack)


async def test_a_merchant_who_lacks_little_does_not_wait_for_one_who_lacks_much(stack: LogStack) -> None:
    other = PaymentSteps(stack.steps.service, (await make_merchant(stack.database)).id)
    await stack.steps.ended_many(COLLECTION, COMPLETED, [1000] * 5)
    of_other = await other.ended(COLLECTION, COMPLETED)
    await stack.number(is_on=False)

    assert await append_new(stack.database, log_name=NAME, most_of_merchant=4, most=2)

    assert [each for each, _, _ in await leaves(stack)] == [of_other.id]
    await stack.append(most_of_merchant=4, most=2)
    assert len(await leaves(stack)) == 6
    assert not await append_new(stack.database, log_name=NAME)
    await assert_whole(stack)


async def test_payments_whose_events_are_not_kept_are_read_themselves(stack: LogStack) -> None:
    paid = [await stack.steps.ended(COLLECTION, COMPLETED) for _ in range(3)]
    await stack.steps.ended(COLLECTION, FAILED)
    sent = await stack.steps.ended(DISBURSEMENT, COMPLETED)
    wrong = await stack.steps.contradicted(COLLECTION, FAILED)
    await stack.number(is_on=False)
    kept = await stack.steps.ended(COLLECTION, COMPLETED)
    late = await stack.steps.processing(COLLECTION)  # older than what is pruned, and ends afterwards
    await stack.number(is_on=False)
    while await rollups.count(stack.database, least=1):
        pass
    async with stack.database.begin() as tx:
        pruned = await feed.prune(tx, stack.steps.merchant_id, before=clock.now() + timedelta(days=1), most=13)
        assert pruned == 13
    left = await stack.rows("SELECT event FROM events WHERE event LIKE '%.completed'")
    assert len(left) < 5
    await stack.append(most_of_merchant=2)
    await stack.steps.report(late, Verdict.CONFIRMED)
    await stack.number()
    expected = Counter([*((each.id, "completed", 1) for each in (*paid, sent, kept, late)), (wrong.id, "corrected", 1)])
    assert Counter(await leaves(stack)) == expected
    assert await stack.rows("SELECT FROM receipt_walks") == []
    await assert_whole(stack)


async def test_what_the_log_has_not_is_kept(stack: LogStack) -> None:
    await stack.steps.ended(COLLECTION, COMPLETED)
    await stack.number(is_on=False)
    while await rollups.count(stack.database, least=1):
        pass
    soon = clock.now() + timedelta(days=1)
    async with stack.database.begin() as tx:
        assert await feed.prune(tx, stack.steps.merchant_id, before=soon, most=99, keeps_unlogged=True) == 0
    await stack.append()
    async with stack.database.begin() as tx:
        assert await feed.prune(tx, stack.steps.merchant_id, before=soon, most=99, keeps_unlogged=True) == 2


async def test_two_workers_that_number_and_append_at_once_append_everything_once(stack: LogStack) -> None:
    for _ in range(4):
        await stack.steps.ended_many(COLLECTION, COMPLETED, [1000] * 5)
        await asyncio.gather(
            stack.number(most=3), stack.number(is_on=False, most=2), stack.append(), stack.number(most=1)
        )
    await stack.number()
    found = await leaves(stack)
    assert len(found) == len(set(found)) == 20
    await assert_whole(stack)


async def test_events_that_are_deleted_while_they_are_read_are_not_passed_over(stack: LogStack) -> None:
    paid = await stack.steps.ended(COLLECTION, COMPLETED)
    await stack.number(is_on=False)
    while await rollups.count(stack.database, least=1):
        pass
    async with stack.database.begin() as tx:
        lags, _ = await facts.find_lags(tx, most_of_merchant=500, most=500)
    async with stack.database.begin() as tx:  # By a process without a receipt log.
        assert await feed.prune(tx, stack.steps.merchant_id, before=clock.now() + timedelta(days=1), most=99) == 2

    async with stack.database.begin() as tx:
        assert not await facts.move_positions(tx, lags, [each.last_number for each in lags])

    await stack.append()
    assert await leaves(stack) == [(paid.id, "completed", 1)]


async def test_a_fact_that_a_log_has_is_not_appended_again(stack: LogStack) -> None:
    await stack.steps.ended(COLLECTION, COMPLETED)
    await stack.number()
    # As if the position had been lost: a wrong position may never make a second leaf.
    await stack.execute("UPDATE feeds SET logged_to = 0")
    await stack.append()
    assert len(await leaves(stack)) == 1
    await assert_whole(stack)


async def test_erasure_leaves_only_a_random_number(stack: LogStack) -> None:
    paid = await stack.steps.ended(COLLECTION, COMPLETED)
    await stack.number()
    before = await stack.sign()
    async with stack.database.begin() as tx:
        assert await facts.erase(tx, paid.merchant_id, paid.id) == 1
        assert await facts.erase(tx, paid.merchant_id, paid.id) == 0
    [row] = await stack.rows("SELECT salt, fact, length(entry) AS entry FROM receipt_facts")
    assert (row["salt"], row["fact"], row["entry"]) == (None, None, 32)
    [line] = (await stack.receipt(paid.id))["facts"]
    assert (line["fact"], line["salt"]) == (None, None)
    await stack.steps.ended(COLLECTION, COMPLETED)
    await stack.number()
    after = await stack.sign()
    assert before is not None
    assert after is not None
    assert after.size == before.size + 1


async def test_a_receipt_names_its_merchant_as_it_was_then(stack: LogStack) -> None:
    """Which is what its proof says. With its present name or TIN an honest receipt would be refused."""
    paid = await stack.steps.ended(COLLECTION, COMPLETED)
    await stack.number()
    then = (await stack.receipt(paid.id))["merchant"]
    await stack.execute(
        "INSERT INTO public_profiles (merchant_id, name, tin, changed_at) VALUES ($1, 'TANESCO', '123456789', now())",
        paid.merchant_id,
    )
    await stack.sign()

    shown = await stack.receipt(paid.id)

    assert shown["merchant"] == then
    keys = (await stack.keys())["keys"]
    verifier().verify_receipt(shown, {verifier().key_of(each): None for each in keys})

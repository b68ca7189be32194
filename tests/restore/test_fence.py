"""A fenced installation: nothing is sent, nothing that moves money is taken in, and what is open is asked about first."""

import asyncio

import pytest
from msgspec.structs import replace

from malipo import clock
from malipo.errors import Conflict, Refusal
from malipo.networks.connector import Resubmit, Verdict
from malipo.payments.cancel import Cancellation
from malipo.payments.cases import cancel_unsent, resolve
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome
from malipo.payments.dispatch import AnswerSource, ReviewReason
from malipo.payments.initiate import Initiate
from malipo.payments.store import asked_first
from malipo.payments.transaction import Status, Transaction, Type
from malipo.restore import hold
from malipo.restore.installation import DatabaseRestored, OnHold
from malipo.restore.store import installation
from tests.journeys import database_facts
from tests.journeys.concurrency import order
from tests.payments.payment_steps import PaymentSteps, a_report, of
from tests.restore.operators import ASHA, EVIDENCE, JUMA, ask_first, fence, let_go
from tests.restore.operators import steps as steps


async def test_a_fence_begins_an_epoch_once_however_many_notice(steps: PaymentSteps) -> None:
    await asyncio.gather(*(fence(steps) for _ in range(5)))
    async with steps.database.read() as connection:
        standing = await installation.get(connection)
        noted = await connection.fetchval("SELECT count(*) FROM audit_log WHERE action = 'installation.fenced'")
    assert (standing.epoch > 1, standing.is_fenced, noted) == (True, True, 1)


@pytest.mark.parametrize("type_", Type)
async def test_while_it_is_fenced_nothing_is_sent_taken_in_lapsed_or_cancelled(
    steps: PaymentSteps, type_: Type
) -> None:
    opened = await steps.open(type_)
    await steps.wait(opened, seconds=10_000)
    await fence(steps)

    taken = await steps.claim(lapse_seconds=1)

    assert (taken.to_send, taken.lapsed) == ([], [])
    with pytest.raises(DatabaseRestored):
        await steps.open(type_)
    with pytest.raises(DatabaseRestored):
        await steps.service.payments.cancel(Cancellation(steps.merchant_id, opened.id))
    assert await steps.status(opened) is Status.PENDING
    await database_facts.assert_clean(steps.database)


async def test_a_request_that_met_a_fence_has_not_used_its_key_up(steps: PaymentSteps) -> None:
    await fence(steps)
    with pytest.raises(DatabaseRestored):
        await steps.open(Type.COLLECTION, key="order-1")
    assert await database_facts.count(steps.database, "idempotency_keys") == 0


@pytest.mark.parametrize("verdict", [Verdict.CONFIRMED, Verdict.REFUSED])
@pytest.mark.parametrize("type_", Type)
async def test_what_its_network_has_is_not_sent_again_and_ends_as_the_network_says(
    steps: PaymentSteps, type_: Type, verdict: Verdict
) -> None:
    """PENDING in the backup, sent since, and paid or refused: only the network knows."""
    pending = await steps.open(type_)
    await fence(steps)
    assert of(await ask_first(steps)) == [pending.id], "questions go on behind the fence"
    await steps.report(pending, verdict)
    await steps.report(pending, verdict)
    assert await steps.status(pending) is (Status.COMPLETED if verdict is Verdict.CONFIRMED else Status.FAILED)
    await let_go(steps, ASHA, JUMA)
    assert (await steps.claim()).to_send == []
    await database_facts.assert_clean(steps.database)


@pytest.mark.parametrize("type_", Type)
async def test_what_its_network_does_not_know_goes_after_thelet_go(steps: PaymentSteps, type_: Type) -> None:
    pending = await steps.open(type_)
    await fence(steps)
    await steps.report(pending, Verdict.MISSING)
    dispatch = await steps.dispatch(pending)
    assert dispatch is not None
    assert dispatch.is_asked_first, "it had no time to be found"
    await steps.wait(pending, seconds=301)
    await steps.report(pending, Verdict.MISSING)
    assert (await steps.claim()).to_send == [], "not while it is fenced"
    await let_go(steps, ASHA, JUMA)
    assert of((await steps.claim()).to_send) == [pending.id]
    await database_facts.assert_clean(steps.database)


async def test_a_payout_waits_for_operators_where_a_network_would_pay_a_key_twice(steps: PaymentSteps) -> None:
    payout = await steps.open(Type.DISBURSEMENT)
    await fence(steps)
    await steps.wait(payout, seconds=301)
    await steps.report(payout, Verdict.MISSING, resubmit=Resubmit.UNSAFE)
    await let_go(steps, ASHA, JUMA)
    assert (await steps.claim()).to_send == []
    dispatch = await steps.dispatch(payout)
    assert dispatch is not None
    assert dispatch.review_reason is ReviewReason.RESTORED
    with pytest.raises(Conflict, match="may have been sent before"):
        await steps.service.payments.cancel(Cancellation(steps.merchant_id, payout.id))

    assert await let_go(steps, ASHA, JUMA, scope=("MPESA", "DISBURSEMENT"))

    assert of((await steps.claim()).to_send) == [payout.id]
    await database_facts.assert_clean(steps.database)


async def test_an_operator_cancels_nothing_of_a_closed_merchant_before_its_network_was_asked(
    steps: PaymentSteps,
) -> None:
    payout = await steps.open(Type.DISBURSEMENT)
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = false WHERE id = $1", steps.merchant_id)
    await fence(steps)
    with pytest.raises(DatabaseRestored):
        await _cancel_as_operator(steps, payout)
    await let_go(steps, ASHA, JUMA)
    with pytest.raises(Conflict, match="case_asked_first"):
        await _cancel_as_operator(steps, payout)
    assert await steps.status(payout) is Status.PENDING
    await steps.wait(payout, seconds=301)
    await steps.report(payout, Verdict.MISSING)
    await _cancel_as_operator(steps, payout)
    assert await steps.status(payout) is Status.CANCELLED
    await database_facts.assert_clean(steps.database)


async def _cancel_as_operator(steps: PaymentSteps, transaction: Transaction) -> None:
    async with steps.database.begin() as tx:
        await cancel_unsent.cancel(tx, transaction.id, actor=ASHA, now=clock.now())


async def test_what_was_cancelled_in_the_lost_time_is_cancelled_again_while_its_channel_is_held(
    steps: PaymentSteps,
) -> None:
    """Its cancellation is forgotten, and its network knows nothing of it: it would be sent after the release."""
    payout = await steps.open(Type.DISBURSEMENT)
    await fence(steps)
    routes = [("MPESA", "DISBURSEMENT")]
    async with steps.database.begin() as tx:
        await hold.hold(tx, routes, "merchants cancel again", actor=ASHA, now=clock.now())
    with pytest.raises(DatabaseRestored):
        await steps.service.payments.cancel(Cancellation(steps.merchant_id, payout.id))
    await steps.wait(payout, seconds=301)
    await steps.report(payout, Verdict.MISSING)
    await let_go(steps, ASHA, JUMA)
    assert (await steps.claim()).to_send == [], "it is held"
    await steps.service.payments.cancel(Cancellation(steps.merchant_id, payout.id))
    async with steps.database.begin() as tx:
        await hold.end(tx, routes, actor=JUMA, now=clock.now())
    assert (await steps.claim()).to_send == []
    assert await steps.status(payout) is Status.CANCELLED
    await database_facts.assert_clean(steps.database)


@pytest.mark.parametrize("outcome", [ResolvedOutcome.COMPLETED, ResolvedOutcome.FAILED])
@pytest.mark.parametrize("type_", Type)
async def test_two_operators_who_have_read_the_statement_say_what_became_of_it(
    steps: PaymentSteps, type_: Type, outcome: ResolvedOutcome
) -> None:
    """Where the network cannot be asked, its statement for the lost time has the last word."""
    payment = await steps.open(type_)
    finding = OperatorFinding(outcome, EVIDENCE)
    with pytest.raises(Conflict, match="case_pending"):
        async with steps.database.begin() as tx:
            await resolve.propose(tx, payment.id, finding, actor=ASHA, approval_amount=1_000_000, now=clock.now())
    await fence(steps)
    async with steps.database.begin() as tx:
        assert not (
            await resolve.propose(tx, payment.id, finding, actor=ASHA, approval_amount=1_000_000, now=clock.now())
        ).is_done
    async with steps.database.begin() as tx:
        await resolve.approve(tx, payment.id, actor=JUMA, now=clock.now())
    assert await steps.status(payment) == outcome.upper()
    await let_go(steps, ASHA, JUMA)
    assert (await steps.claim()).to_send == []
    await database_facts.assert_clean(steps.database)


async def test_what_was_on_its_way_counts_as_sent_and_is_asked_about(steps: PaymentSteps) -> None:
    sending = await steps.send(Type.DISBURSEMENT)
    unsent = await steps.send(Type.COLLECTION)
    await steps.report(unsent, Verdict.UNSENT, AnswerSource.SEND)
    await fence(steps)
    await let_go(steps, ASHA, JUMA)
    assert (await steps.claim(lapse_seconds=0)).to_send == []
    for each in (sending, unsent):
        dispatch = await steps.dispatch(each)
        assert dispatch is not None
        assert (dispatch.next_action, dispatch.send_count) == ("ask", 1)


@pytest.mark.parametrize("type_", Type)
async def test_in_the_week_after_what_has_a_derived_key_is_asked_about_before_it_is_sent(
    steps: PaymentSteps, type_: Type
) -> None:
    await fence(steps)
    await let_go(steps, ASHA, JUMA)
    await _say_that_it_was_fenced(steps, "2000 seconds")
    derived = await steps.open(type_, key="order-1")
    by_chance = await steps.open(type_)

    assert of((await steps.claim()).to_send) == [by_chance.id]
    assert of(await ask_first(steps)) == [derived.id]
    await steps.report(derived, Verdict.NOT_INDEXED)
    assert of((await steps.claim()).to_send) == [derived.id]
    await _say_that_it_was_fenced(steps, "8 days")
    later = await steps.open(type_, key="order-2")
    assert of((await steps.claim()).to_send) == [later.id]
    await database_facts.assert_clean(steps.database)


@pytest.mark.parametrize(("type_", "goes"), [(Type.COLLECTION, True), (Type.DISBURSEMENT, False)])
async def test_where_nobody_can_be_asked_a_new_collection_goes_and_what_else_there_is_waits(
    steps: PaymentSteps, type_: Type, goes: bool
) -> None:
    """A customer decides about a collection; nobody does about a payout."""
    before = await steps.open(type_, key="order-1")
    await fence(steps)
    await let_go(steps, ASHA, JUMA)
    since = await steps.open(type_, key="order-2")
    for each in (before, since):
        await _hear_that_nobody_can_be_asked(steps, each)
    assert of((await steps.claim()).to_send) == ([since.id] if goes else [])
    dispatch = await steps.dispatch(before)
    assert dispatch is not None
    assert dispatch.review_reason is ReviewReason.RESTORED
    await database_facts.assert_clean(steps.database)


async def _hear_that_nobody_can_be_asked(steps: PaymentSteps, transaction: Transaction) -> None:
    report = a_report(transaction, Verdict.UNKNOWN)
    await steps.service.network_work.apply_answer(
        replace(report, received=replace(report.received, cannot_query=frozenset(Type)))
    )


async def _say_that_it_was_fenced(steps: PaymentSteps, ago: str) -> None:
    async with steps.database.begin() as tx:
        await tx.execute(f"UPDATE installation SET epoch_began_at = now() - interval '{ago}'")


async def test_a_hold_stops_everything_or_one_kind_and_lets_it_go(steps: PaymentSteps) -> None:
    payout, collection = await steps.open(Type.DISBURSEMENT), await steps.open(Type.COLLECTION)
    async with steps.database.begin() as tx:
        await hold.hold(tx, [], "a drill", actor=ASHA, now=clock.now())
    assert (await steps.claim()).to_send == []
    with pytest.raises(OnHold):
        await steps.open(Type.COLLECTION)
    async with steps.database.begin() as tx:
        await hold.hold(tx, [("MPESA", "DISBURSEMENT")], "their float is short", actor=ASHA, now=clock.now())
        await hold.end(tx, [], actor=JUMA, now=clock.now())
    assert of((await steps.claim()).to_send) == [collection.id]
    await steps.open(Type.DISBURSEMENT)  # It is taken in, and waits.
    assert (await steps.claim()).to_send == []
    async with steps.database.begin() as tx:
        await hold.end(tx, [("MPESA", "DISBURSEMENT")], actor=JUMA, now=clock.now())
    assert payout.id in of((await steps.claim()).to_send)
    with pytest.raises(Refusal):
        async with steps.database.begin() as tx:
            await hold.end(tx, [], actor=JUMA, now=clock.now())


async def test_what_is_taken_in_while_the_fence_goes_up_is_asked_about_too(steps: PaymentSteps) -> None:
    """A batch of requests has read that nothing is fenced, and commits when it is."""
    wanted = order(steps.merchant_id, Type.DISBURSEMENT, 1000, key="order-1")
    async with steps.database.begin() as batch:
        await Initiate(clock=clock.now)(batch, [wanted], again=False)
        await fence(steps)
    assert (await steps.claim()).to_send == []
    async with steps.database.read() as connection:
        shown = await asked_first.find_open(connection)
    assert [(each.is_asked_first, each.not_asked) for each in shown] == [(True, 1)], "as it will be at the release"
    await let_go(steps, ASHA, JUMA)
    assert (await steps.claim()).to_send == []
    assert len(await ask_first(steps)) == 1


async def test_what_was_asked_and_may_go_is_not_shown_as_not_asked(steps: PaymentSteps) -> None:
    payout = await steps.open(Type.DISBURSEMENT)
    await fence(steps)
    async with steps.database.read() as connection:
        assert [each.not_asked for each in await asked_first.find_open(connection)] == [1]
    await ask_first(steps)
    await steps.wait(payout, seconds=2000)
    await steps.report(payout, Verdict.NOT_INDEXED)
    async with steps.database.read() as connection:
        assert [(each.is_asked_first, each.not_asked) for each in await asked_first.find_open(connection)] == [
            (False, 0)
        ]

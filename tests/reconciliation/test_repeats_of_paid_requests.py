"""A merchant repeats a request whose payment a restore has lost, and which a line of a statement shows as paid."""

import asyncio

import pytest

from malipo.errors import Conflict
from malipo.networks.connector import Channel, Verdict
from malipo.payments.cases.resolution import ResolvedOutcome
from malipo.payments.dispatch import AnswerSource, ReviewReason
from malipo.payments.store import asked_first
from malipo.payments.transaction import Status, Transaction, Type
from tests.payments.batches.batch_steps import BatchSteps, batches
from tests.payments.payment_steps import steps
from tests.reconciliation.exception_desk import ExceptionDesk, desk
from tests.reconciliation.lost_requests import PHONE, Lost
from tests.reconciliation.statement_days import Statements, line_of, statements
from tests.reconciliation.test_adopt_batches_and_refunds import _until_wait

__all__ = ["batches", "desk", "statements", "steps"]

MASKED = "255754***001"


async def set_restored(statements: Statements, *, ago: str = "1 hour", released: Channel | None = None) -> None:
    async with statements.database.begin() as tx:
        await tx.execute(f"UPDATE installation SET epoch = 2, epoch_began_at = now() - interval '{ago}'")
        if released is not None:
            await tx.execute(
                "INSERT INTO channel_releases (epoch, channel, type) VALUES (2, $1, 'DISBURSEMENT')", released
            )


async def to_send(statements: Statements, type_: Type) -> list[str]:
    claimed = await statements.steps.claim(routes=[(statements.channel, type_)])
    return [each.id for each in claimed.to_send]


# A line with the key of the request, which nobody has adopted yet.


@pytest.mark.parametrize("why", ["released", "week over"])
async def test_a_payout_whose_key_is_on_a_line_is_not_sent_and_ends_when_the_line_is_matched(
    statements: Statements, desk: ExceptionDesk, why: str
) -> None:
    """Tigo Pesa pays a key twice, and has no query."""
    statements.channel = Channel.TIGO_PESA
    lost = Lost(statements, desk, Type.DISBURSEMENT)
    await lost.on_statement()
    is_released = why == "released"
    await set_restored(
        statements, ago="1 hour" if is_released else "8 days", released=Channel.TIGO_PESA if is_released else None
    )
    repeated = (await lost.repeat()).transaction
    assert await to_send(statements, Type.DISBURSEMENT) == []
    dispatch = await statements.steps.dispatch(repeated)
    assert dispatch is not None
    assert dispatch.review_reason is ReviewReason.RESTORED, "operators are shown it"
    await statements.match()
    assert await statements.status(repeated) is Status.COMPLETED
    await lost.check()


async def test_a_release_leaves_out_what_a_line_shows_as_paid(statements: Statements, desk: ExceptionDesk) -> None:
    """The line was imported after the repeat had begun to wait, and is not matched yet."""
    statements.channel = Channel.TIGO_PESA
    lost = Lost(statements, desk, Type.DISBURSEMENT)
    await lost.on_statement()
    await set_restored(statements)
    await lost.repeat()
    async with statements.database.begin() as tx:
        assert await asked_first.release_asked_first(tx, Channel.TIGO_PESA, Type.DISBURSEMENT) == 0
    assert await to_send(statements, Type.DISBURSEMENT) == []


async def test_a_collection_whose_key_is_on_a_line_prompts_nobody(statements: Statements, desk: ExceptionDesk) -> None:
    """HaloPesa has no query: without the line the customer would be asked to pay again."""
    statements.channel = Channel.HALOPESA
    lost = Lost(statements, desk, Type.COLLECTION)
    await lost.on_statement()
    await set_restored(statements)
    repeated = (await lost.repeat()).transaction
    assert await to_send(statements, Type.COLLECTION) == []
    await statements.match()
    assert await statements.status(repeated) is Status.COMPLETED


async def test_a_payout_with_another_key_is_sent(statements: Statements, desk: ExceptionDesk) -> None:
    statements.channel = Channel.TIGO_PESA
    lost = Lost(statements, desk, Type.DISBURSEMENT)
    await lost.on_statement()
    await set_restored(statements, released=Channel.TIGO_PESA)
    another = (await lost.repeat(key="order-1002")).transaction
    assert await to_send(statements, Type.DISBURSEMENT) == [another.id]


@pytest.mark.parametrize("is_released", [False, True])
async def test_a_batch_from_before_the_restore_is_asked_about_also_after_a_release(
    batches: BatchSteps, is_released: bool
) -> None:
    """Its approval was lost, so nothing of it waited when operators released the channel."""
    batch = await batches.make(3)
    async with batches.database.begin() as tx:
        await tx.execute("UPDATE batches SET created_at = created_at - interval '1 day'")
        await tx.execute("UPDATE installation SET epoch = 2, epoch_began_at = now() - interval '1 hour'")
        if is_released:
            await tx.execute("INSERT INTO channel_releases (epoch, channel, type) VALUES (2, 'MPESA', 'DISBURSEMENT')")
    await batches.approve(batch)
    assert (await batches.claim()).to_send == []


# A line without a key, adopted without the merchant's Idempotency-Key.


async def adopted_collection(statements: Statements, desk: ExceptionDesk) -> Lost:
    lost = Lost(statements, desk, Type.COLLECTION)
    await lost.adopt(await lost.on_statement(key="", phone=MASKED), phone=PHONE)
    return lost


@pytest.mark.parametrize("receipt", ["QK1", None])
@pytest.mark.parametrize("source", [AnswerSource.QUERY, AnswerSource.CALLBACK])
async def test_a_repeated_collection_that_the_network_reports_as_paid_is_credited_once(
    statements: Statements, desk: ExceptionDesk, receipt: str | None, source: AnswerSource
) -> None:
    """The network has one payment, with the receipt on the line, and knows it by the key of the repeat."""
    lost = await adopted_collection(statements, desk)
    credited = await lost.held()
    repeated = (await lost.repeat()).transaction
    await statements.steps.claim()
    await statements.steps.report(repeated, Verdict.CONFIRMED, source, provider_reference=receipt)
    assert await lost.held() == credited, "one line, one credit"
    await _is_shown(statements, repeated)
    with pytest.raises(Conflict, match="case_repeat_or_other"):
        await lost.decide(repeated, ResolvedOutcome.COMPLETED)
    with pytest.raises(Conflict, match="case_not_sent_by_decision"):
        await lost.decide(repeated, ResolvedOutcome.SEND)
    await lost.decide(repeated, ResolvedOutcome.FAILED)
    assert await lost.held() == credited
    # A callback that comes late, after the end, contradicts nothing.
    await statements.steps.report(repeated, Verdict.CONFIRMED, AnswerSource.CALLBACK, provider_reference=receipt)
    assert await lost.held() == credited
    assert await statements.steps.correction(repeated) is None
    await statements.check_ledger()


async def test_operators_do_not_complete_the_repeat_of_an_adopted_collection(
    statements: Statements, desk: ExceptionDesk
) -> None:
    """HaloPesa refuses the repeat as a duplicate, and no report follows. On the statement operators find its line."""
    lost = await adopted_collection(statements, desk)
    credited = await lost.held()
    repeated = (await lost.repeat()).transaction
    await statements.steps.claim()
    await statements.steps.report(repeated, Verdict.UNKNOWN, AnswerSource.SEND)
    with pytest.raises(Conflict, match="case_resembles_adopted"):
        await lost.decide(repeated, ResolvedOutcome.COMPLETED)
    assert await lost.held() == credited
    assert await statements.status(repeated) is Status.PROCESSING


async def test_a_collection_with_another_receipt_is_another_payment(
    statements: Statements, desk: ExceptionDesk
) -> None:
    lost = await adopted_collection(statements, desk)
    credited = await lost.held()
    another = (await lost.repeat(key="order-1002")).transaction
    await statements.steps.claim()
    await statements.steps.report(another, Verdict.CONFIRMED, provider_reference="QK2")
    assert await lost.held() == credited + lost.amount


async def test_a_customer_who_paid_twice_has_two_lines(statements: Statements, desk: ExceptionDesk) -> None:
    lost = await adopted_collection(statements, desk)
    credited = await lost.held()
    repeated = (await lost.repeat()).transaction
    await statements.steps.claim()
    await statements.steps.report(repeated, Verdict.CONFIRMED)
    await statements.take(line_of(repeated, "QK2"))
    assert await lost.held() == credited + lost.amount
    assert await statements.status(repeated) is Status.COMPLETED
    await statements.check_ledger()


async def test_a_repeat_that_comes_while_the_adoption_waits_for_the_wallet_is_seen(
    statements: Statements, desk: ExceptionDesk
) -> None:
    lost = Lost(statements, desk, Type.COLLECTION)
    found = await lost.on_statement(key="", phone=MASKED)
    await lost.propose(found, phone=PHONE)
    async with statements.database.begin() as tx:
        await tx.execute("SELECT FROM wallets WHERE merchant_id = $1 FOR UPDATE", lost.merchant_id)
        adopting = asyncio.ensure_future(desk.approve(found))
        await _until_wait(statements, 1)
        await lost.repeat()
    with pytest.raises(Conflict, match="adopt_like_it"):
        await adopting


async def test_a_payout_like_an_adopted_one_waits_until_its_repeat_has_come(
    statements: Statements, desk: ExceptionDesk
) -> None:
    """A merchant's queue may send the lost request again after months."""
    lost = Lost(statements, desk, Type.DISBURSEMENT)
    await lost.adopt(await lost.on_statement(key="", phone=MASKED), phone=PHONE)
    await _let_days_pass(statements, 90)
    repeated = (await lost.repeat()).transaction
    assert await to_send(statements, Type.DISBURSEMENT) == []
    await lost.decide(repeated, ResolvedOutcome.FAILED)
    another = (await lost.repeat(key="order-1002")).transaction
    assert await to_send(statements, Type.DISBURSEMENT) == [another.id], "the repeat has come"


@pytest.mark.parametrize(("days", "waits"), [(29, True), (31, False)])
async def test_operators_who_send_one_after_a_month_end_the_waiting(
    statements: Statements, desk: ExceptionDesk, days: int, waits: bool
) -> None:
    """A salary is the same every month. The first after so long is looked at, the next is not."""
    lost = Lost(statements, desk, Type.DISBURSEMENT)
    await lost.adopt(await lost.on_statement(key="", phone=MASKED), phone=PHONE)
    await _let_days_pass(statements, days)
    salary = (await lost.repeat(key="salary-1")).transaction
    await lost.decide(salary, ResolvedOutcome.SEND)
    assert await to_send(statements, Type.DISBURSEMENT) == [salary.id]
    following = (await lost.repeat(key="salary-2")).transaction
    assert await to_send(statements, Type.DISBURSEMENT) == ([] if waits else [following.id])


@pytest.mark.parametrize("is_adopted_first", [True, False])
async def test_a_repeat_without_an_idempotency_key_waits_whichever_comes_first(
    statements: Statements, desk: ExceptionDesk, is_adopted_first: bool
) -> None:
    """The line has the random key that the lost payout was sent with. Of the repeat nothing was sent yet."""
    lost = Lost(statements, desk, Type.DISBURSEMENT)
    found = await lost.on_statement(key="0123456789ABCDEF")
    if is_adopted_first:
        await lost.adopt(found)
        await lost.repeat(key=None)
        assert await to_send(statements, Type.DISBURSEMENT) == []
    else:
        await lost.repeat(key=None)
        with pytest.raises(Conflict, match="adopt_like_it"):
            await lost.adopt(found)


@pytest.mark.parametrize("written", ["{}", "MLP-{}", "{} ", "12345{}", "Ref {}"])
async def test_matching_and_adopting_find_the_key_in_the_same_place(
    statements: Statements, desk: ExceptionDesk, written: str
) -> None:
    lost = Lost(statements, desk, Type.COLLECTION)
    await lost.adopt(await lost.on_statement(key=written.format(await lost.network_key())))
    assert (await lost.repeat()).is_replay
    payment = await statements.completed()
    await statements.take(line_of(payment, "QK99", key=written.format(payment.network_key)))
    assert await statements.kinds() == []


async def _is_shown(statements: Statements, payment: Transaction) -> None:
    dispatch = await statements.steps.dispatch(payment)
    assert dispatch is not None
    assert dispatch.review_reason is ReviewReason.RESEMBLES_ADOPTED


async def _let_days_pass(statements: Statements, days: int) -> None:
    async with statements.database.begin() as tx:
        await tx.execute(f"UPDATE adopted_payments SET adopted_at = adopted_at - interval '{days} days'")

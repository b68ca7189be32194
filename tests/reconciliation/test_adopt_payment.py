"""Adopting a lost payment, and the merchant who repeats the lost request: before, meanwhile and after. It is paid once."""

import asyncio

import pytest

from malipo import clock
from malipo.db import DataError
from malipo.errors import Conflict, Forbidden, Invalid, OutcomeUnknown
from malipo.networks.connector import Channel, Verdict
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome
from malipo.payments.cases.resolve import propose as propose_case
from malipo.payments.idempotency import KeyReused
from malipo.payments.initiate import InitiatedPayment
from malipo.payments.transaction import Status, Type
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.exceptions.suggest_payments import suggest_payments
from malipo.reconciliation.matching.exception import ExceptionState
from tests.conftest import make_merchant
from tests.journeys import database_facts
from tests.payments.payment_steps import steps
from tests.reconciliation.exception_desk import ExceptionDesk, desk
from tests.reconciliation.lost_requests import PHONE, Lost
from tests.reconciliation.statement_days import ASHA, JUMA, Entry, Statements, reversal_of, statements

__all__ = ["desk", "statements", "steps"]

OTHER_PHONE = "+255754000009"


@pytest.fixture(params=list(Type))
def lost(statements: Statements, desk: ExceptionDesk, request: pytest.FixtureRequest) -> Lost:
    return Lost(statements, desk, request.param)


@pytest.fixture
def lost_payout(statements: Statements, desk: ExceptionDesk) -> Lost:
    return Lost(statements, desk, Type.DISBURSEMENT)


async def test_a_repeat_after_the_adoption_is_answered_with_the_adopted_payment(lost: Lost) -> None:
    before = await lost.held()
    await lost.adopt(await lost.on_statement())
    after = before + (lost.amount if lost.type is Type.COLLECTION else -lost.amount)
    assert await lost.held() == after
    for _ in range(2):
        again = await lost.repeat()
        assert again.is_replay
        assert (again.transaction.status, again.transaction.provider_reference) == (Status.COMPLETED, "QK1")
        assert again.transaction.reference == f"MLP-{await lost.network_key()}"
    assert await lost.held() == after
    assert (await lost.statements.steps.claim()).to_send == []
    assert await database_facts.count(lost.statements.database, "idempotency_keys") == 1, "from now on it is kept"
    with pytest.raises(KeyReused):
        await lost.repeat(amount=lost.amount + 1)
    await lost.check()


async def test_each_event_of_an_adopted_payout_that_the_wallet_could_not_pay_has_its_receipt(lost_payout: Lost) -> None:
    """The event of the debt comes before that of the end, in the same commit. Each event is a leaf of the receipt log, which must say what
    the payment says."""
    lost = lost_payout
    lost.amount = await lost.held() + 5_000
    await lost.adopt(await lost.on_statement())
    async with lost.statements.database.read() as connection:
        reported = await connection.fetch(
            "SELECT event, body::json -> 'transaction' ->> 'providerReference' AS receipt FROM events ORDER BY event"
        )
    assert [tuple(row) for row in reported] == [("payout.completed", "QK1"), ("payout.corrected", "QK1")]


async def test_an_adoption_that_is_approved_after_the_repeat_is_refused(lost: Lost) -> None:
    found = await lost.on_statement()
    await lost.propose(found)
    repeated = (await lost.repeat()).transaction
    await lost.statements.steps.claim()
    await lost.statements.steps.report(repeated, Verdict.CONFIRMED, provider_reference="QK1")
    with pytest.raises(Conflict, match=repeated.reference):
        await lost.desk.approve(found)
    await lost.desk.reject(found)
    await lost.check()


async def test_an_adoption_is_refused_while_the_repeat_is_open(lost: Lost) -> None:
    found = await lost.on_statement()
    repeated = (await lost.repeat()).transaction
    with pytest.raises(Conflict, match=repeated.reference):
        await lost.propose(found)


async def test_the_line_of_a_repeat_is_not_matched_with_another_payment_that_was_paid(lost: Lost) -> None:
    """The repeat has the key that is on the line, and was made after the last matching."""
    found = await lost.on_statement()
    other = await lost.statements.steps.ended(lost.type, Status.COMPLETED, lost.amount)
    repeated = (await lost.repeat()).transaction
    with pytest.raises(Conflict, match=f"match_another_has_key payment='{repeated.reference}'"):
        await lost.desk.propose(found, Action.MATCH, {"payment": other.id})


async def test_an_adoption_is_refused_if_a_payment_has_the_receipt(lost: Lost) -> None:
    """The line has no key, and the query of the repeated payment has reported its receipt."""
    found = await lost.on_statement(key="", phone="255754***001")
    repeated = (await lost.repeat()).transaction
    await lost.statements.steps.claim()
    await lost.statements.steps.report(repeated, Verdict.CONFIRMED, provider_reference="QK1")
    with pytest.raises(Conflict, match=repeated.reference):
        await lost.propose(found, idempotency_key="order-other", phone=PHONE)


@pytest.mark.parametrize("biller", ["", "MLP", "BR1K"])
async def test_the_key_is_found_behind_a_billers_code(statements: Statements, desk: ExceptionDesk, biller: str) -> None:
    """Tigo Pesa has it before the key. A repeat is not credited again, and a payout is not sent again."""
    statements.channel = Channel.TIGO_PESA
    for type_ in Type:
        lost = Lost(statements, desk, type_, key=f"order-{type_}")
        key = biller + await lost.network_key()
        signed = lost.amount if type_ is Type.COLLECTION else -lost.amount
        await statements.take(Entry(f"QK{type_}", signed, clock.now(), key=key, phone=PHONE))
        [found] = await statements.open_exceptions()
        await lost.adopt(found)
        again = await lost.repeat()
        assert (again.is_replay, again.transaction.provider_reference) == (True, f"QK{type_}")
        claimed = await statements.steps.claim(routes=[(Channel.TIGO_PESA, each) for each in Type])
        assert claimed.to_send == []
    assert await database_facts.count(statements.database, "transactions") == 2


async def test_a_line_without_a_key_is_adopted_by_the_merchants_idempotency_key(lost: Lost) -> None:
    found = await lost.on_statement(key="", phone="255754***001")
    await lost.adopt(found, phone=PHONE, idempotency_key=lost.key)
    again = await lost.repeat()
    assert (again.is_replay, again.transaction.provider_reference) == (True, "QK1")
    assert again.transaction.network_key == await lost.network_key()
    with pytest.raises(KeyReused):
        await lost.repeat(amount=lost.amount + 1)
    await lost.check()


async def test_an_idempotency_key_that_does_not_give_the_lines_key_is_refused(lost: Lost) -> None:
    found = await lost.on_statement()
    with pytest.raises(Invalid, match="adopt_other_key"):
        await lost.propose(found, idempotency_key="order-1002")
    await lost.adopt(found, idempotency_key=lost.key)
    assert (await lost.repeat()).is_replay
    await lost.check()


async def test_an_idempotency_key_that_has_a_payment_is_refused(lost: Lost) -> None:
    other = (await lost.repeat(amount=7_000)).transaction
    found = await lost.on_statement(key="", phone=PHONE)
    with pytest.raises(Conflict, match=other.reference):
        await lost.propose(found, idempotency_key=lost.key)


async def test_payouts_like_an_adopted_one_without_a_known_key_wait_for_operators(lost_payout: Lost) -> None:
    """Nobody can tell the repeat of the lost request from another payment. Operators ask the merchant."""
    lost = lost_payout
    await lost.adopt(await lost.on_statement(key="", phone="255754***001"), phone=PHONE)
    paid = await lost.held()
    repeat, another = (await lost.repeat()).transaction, (await lost.repeat(key=None)).transaction
    free = (await lost.repeat(key=None, phone=OTHER_PHONE)).transaction
    assert [each.id for each in (await lost.statements.steps.claim()).to_send] == [free.id]
    for payment in (repeat, another):
        dispatch = await lost.statements.steps.dispatch(payment)
        assert dispatch is not None
        assert dispatch.review_reason == "resembles_adopted"

    await lost.decide(repeat, ResolvedOutcome.FAILED)
    assert await lost.statements.status(repeat) is Status.FAILED
    await lost.decide(another, ResolvedOutcome.SEND)
    assert [each.id for each in (await lost.statements.steps.claim()).to_send] == [another.id]
    # The line of the other one is not that of the repeat, which was never sent (seed 200056).
    await lost.statements.take(Entry("QK7", -lost.amount, clock.now(), phone="255754***001"))
    [found] = await lost.statements.open_exceptions()
    async with lost.statements.database.read() as connection:
        suggested = {each.transaction_id for each in await suggest_payments(connection, found)}
    assert {repeat.id, another.id} & suggested == {another.id}
    with pytest.raises(Conflict, match="match_never_sent"):
        await lost.desk.propose(found, Action.MATCH, {"payment": repeat.reference})
    await lost.desk.propose(found, Action.MATCH, {"payment": another.reference})
    assert await lost.held() == paid - 2 * lost.amount, "what was a repeat is given back"
    await lost.statements.check_ledger()


async def test_only_a_payout_that_waits_for_that_reason_can_be_let_go(lost_payout: Lost) -> None:
    opened = (await lost_payout.repeat()).transaction
    with pytest.raises(Conflict):
        await lost_payout.decide(opened, ResolvedOutcome.SEND)


async def test_a_phone_is_whole_and_fits_the_line(lost: Lost) -> None:
    found = await lost.on_statement(phone="255754***001")
    for phone in ("", "0754000002", "255755000001", "+255754", "nobody"):
        with pytest.raises(Invalid, match=r"adopt_.*phone"):
            await lost.propose(found, phone=phone)
    await lost.adopt(found, phone="0754 000 001")
    async with lost.statements.database.read() as connection:
        assert await connection.fetchval("SELECT phone FROM transactions") == PHONE
    assert (await lost.repeat()).is_replay


async def test_a_payment_adopted_for_another_merchant_is_not_reported_as_not_created(lost: Lost) -> None:
    """Whose it was is unknown until operators have looked: the merchant must not take another key and pay again."""
    await make_merchant(lost.statements.database, wallet=10_000, name="Soko")
    found = await lost.on_statement()
    await lost.adopt(found, merchant="Soko")
    with pytest.raises(OutcomeUnknown):
        await lost.repeat()
    await lost.desk.undo(found)
    await lost.desk.approve(found)
    with pytest.raises(OutcomeUnknown):
        await lost.repeat()
    await lost.adopt(found)
    assert (await lost.repeat()).transaction.provider_reference == "QK1"
    assert await lost.payments() == 2
    assert await lost.statements.float_change() == await lost.statements.statement_change()
    await lost.statements.check_ledger()


async def test_an_undo_that_is_proposed_waits_also_when_statements_are_matched_meanwhile(lost: Lost) -> None:
    """The line has its place, the wrong one: that does not settle what is proposed about it."""
    await make_merchant(lost.statements.database, wallet=10_000, name="Soko")
    found = await lost.on_statement()
    await lost.adopt(found, merchant="Soko")
    await lost.desk.undo(found)
    await lost.statements.match()
    assert (await lost.desk.approve(found)).state is ExceptionState.OPEN
    await lost.adopt(found)
    assert (await lost.repeat()).transaction.provider_reference == "QK1"


async def test_a_reversal_follows_a_payment_that_is_adopted_again_for_its_merchant(lost: Lost) -> None:
    """The reversal was the wrong merchant's, too. Without it the right one would keep what the network took back."""
    await make_merchant(lost.statements.database, wallet=10_000, name="Soko")
    signed = lost.amount if lost.type is Type.COLLECTION else -lost.amount
    paid = Entry("QK1", signed, clock.now(), key=await lost.network_key(), phone=PHONE)
    await lost.statements.take(paid)
    [found] = await lost.statements.open_exceptions()
    await lost.adopt(found, merchant="Soko")
    await lost.statements.take(paid, reversal_of(paid))
    await lost.desk.undo(found)
    await lost.desk.approve(found)
    await lost.adopt(found)
    await lost.statements.match()
    assert await lost.statements.statement_change() == 0
    assert await lost.statements.float_change() == 0
    await lost.statements.check_ledger()


@pytest.mark.parametrize("when", ["before the proposal", "before the approval", "after it"])
async def test_a_reversed_line_is_reversed_when_it_is_adopted(lost: Lost, when: str) -> None:
    """The merchant could spend it before the next matching."""
    statements, before = lost.statements, await lost.spendable()
    signed = lost.amount if lost.type is Type.COLLECTION else -lost.amount
    paid = Entry("QK1", signed, clock.now(), key=await lost.network_key(), phone=PHONE)
    both = (paid, reversal_of(paid))
    await statements.take(*(both if when == "before the proposal" else (paid,)))
    [found] = [each for each in await statements.open_exceptions() if each.receipt == "QK1"]
    await lost.propose(found)
    if when == "before the approval":
        await statements.take(*both)
    await lost.desk.approve(found)
    if when == "after it":
        await statements.take(*both)
    # A collection cannot be spent; what a payout took is given back when operators have decided.
    spendable = before if lost.type is Type.COLLECTION else before - lost.amount
    for _ in range(2):
        assert (await lost.spendable(), await statements.float_change()) == (spendable, 0)
        assert [role for _, _, role in await statements.matches()] == ["payment", "reversal"]
        await statements.match()
        assert await statements.kinds() == [("state_differs", -signed)]
    assert (await lost.repeat()).is_replay
    await statements.check_ledger()

    await lost.desk.undo(found)
    await lost.desk.approve(found)
    assert (await lost.spendable(), await statements.float_change()) == (before, 0)
    assert await statements.matches() == []
    await statements.match()
    await statements.check_ledger()


async def test_the_source_of_a_reversal_does_not_approve_that_its_line_is_adopted(lost: Lost) -> None:
    statements, before = lost.statements, await lost.spendable()
    signed = lost.amount if lost.type is Type.COLLECTION else -lost.amount
    paid = Entry("QK1", signed, clock.now(), key=await lost.network_key(), phone=PHONE)
    await statements.take(paid)
    await statements.load(statements.write(reversal_of(paid), has_balances=False), by=JUMA)
    await statements.match()
    [found] = [each for each in await statements.open_exceptions() if each.receipt == "QK1"]
    await lost.propose(found)
    with pytest.raises(Forbidden):
        await lost.desk.approve(found, by=JUMA)
    assert await lost.spendable() == before


async def test_a_payment_with_a_phone_that_operators_mistook_is_not_reported_as_not_created(lost: Lost) -> None:
    await lost.adopt(await lost.on_statement(phone="255754***"), phone=OTHER_PHONE)
    with pytest.raises(OutcomeUnknown):
        await lost.repeat()
    assert await lost.payments() == 1


async def test_a_channel_that_operators_mistook_pays_nobody_twice(lost: Lost) -> None:
    """The line is in the account of an aggregator, which serves several channels."""
    found = await lost.on_statement()
    with pytest.raises(Invalid, match="adopt_one_channel"):
        await lost.propose(found, channel="AIRTEL_MONEY")
    async with lost.statements.database.begin() as tx:
        await tx.execute("UPDATE statement_files SET profile = 'clickpesa'")
    with pytest.raises(Invalid, match="adopt_which_channel"):
        await lost.propose(found)
    await lost.adopt(found, channel="AIRTEL_MONEY")
    with pytest.raises(OutcomeUnknown):
        await lost.repeat()
    assert await lost.payments() == 1


async def test_after_an_adoption_absence_is_looked_at_again(statements: Statements, desk: ExceptionDesk) -> None:
    """A line of that amount might have been the payment's: now it is another's."""
    absent = await statements.completed(Type.DISBURSEMENT)
    await statements.take(Entry("QK1", -absent.amount, clock.now(), key="", phone=OTHER_PHONE))
    assert await statements.kinds() == [("theirs_only", -absent.amount)]
    [found] = await statements.open_exceptions()
    lost = Lost(statements, desk, Type.DISBURSEMENT)
    await lost.adopt(found, idempotency_key="order-1001")
    await statements.match()
    assert await statements.kinds() == [("ours_only", -absent.amount)]


async def test_a_payment_like_the_line_is_matched_and_not_adopted(lost: Lost) -> None:
    """Without a key, an open or paid one of the same merchant, number and amount may be this one."""
    found = await lost.on_statement(key="", phone="255754***001")
    repeated = (await lost.repeat(key="another-key")).transaction
    with pytest.raises(Conflict, match=repeated.reference):
        await lost.propose(found, phone=PHONE)


async def test_a_reversal_and_a_second_line_of_a_payment_cannot_be_adopted(
    statements: Statements, desk: ExceptionDesk
) -> None:
    payment = await statements.completed()
    now = clock.now()
    await statements.take(
        Entry("QK1", payment.amount, now, key=payment.network_key, phone=PHONE),
        Entry("QK2", payment.amount, now, key=payment.network_key, phone=PHONE),
        Entry("QK3", 900, now, "Reversal of QK0", linked="QK0", phone=PHONE),
    )
    found = await statements.open_exceptions()
    assert sorted(each.kind for each in found) == ["twice", "unknown_line"]
    for each in found:
        with pytest.raises(Invalid):
            await desk.propose(each, Action.ADOPT, {"merchant": payment.merchant_id, "phone": PHONE})


async def test_an_approval_and_a_repeat_at_the_same_moment_make_one_payment(lost: Lost) -> None:
    for number in range(6):
        lost.key, lost.amount = f"order-{number}", 2_000 + number
        signed = lost.amount if lost.type is Type.COLLECTION else -lost.amount
        entry = Entry(f"QK{number}", signed, clock.now(), key=await lost.network_key(), phone=PHONE)
        await lost.statements.take(entry)
        [found] = [each for each in await lost.statements.open_exceptions() if each.receipt == entry.receipt]
        await lost.propose(found)
        approved, repeated = await asyncio.gather(lost.desk.approve(found), lost.repeat(), return_exceptions=True)
        assert isinstance(repeated, InitiatedPayment), "the merchant always gets a payment"
        assert repeated.is_replay != isinstance(approved, Conflict), "whoever comes second finds the first"
        assert await lost.payments() == number + 1
    await lost.statements.check_ledger()


async def test_an_undone_adoption_is_not_called_paid_by_a_decision_about_a_case(lost: Lost) -> None:
    """The wallet has spent what it got by mistake, so a debt is left, and the payment is a case. The line is another's:
    called paid, one movement would be booked twice."""
    await make_merchant(lost.statements.database, name="Soko")
    found = await lost.on_statement()
    await lost.adopt(found, merchant="Soko")
    async with lost.statements.database.read() as connection:
        adopted = await connection.fetchrow("SELECT merchant_id, reference FROM transactions")
    assert adopted is not None
    await lost.desk.undo(found)
    await lost.desk.approve(found)
    finding = OperatorFinding(ResolvedOutcome.COMPLETED, "The statement has its receipt")
    with pytest.raises(Conflict, match="adoption_undone"):
        async with lost.statements.database.begin() as tx:
            await propose_case(
                tx, adopted["reference"], finding, actor=ASHA, approval_amount=1_000_000, now=clock.now()
            )
    await lost.adopt(found)
    assert await lost.statements.float_change() == await lost.statements.statement_change()
    await lost.statements.check_ledger()


async def test_an_adoption_is_undone_also_while_something_is_proposed_about_its_payment(lost: Lost) -> None:
    """An operator doubts the payment as a case, and another one the adoption. It was a 500 for the second."""
    await make_merchant(lost.statements.database, wallet=10_000, name="Soko")
    found = await lost.on_statement()
    await lost.adopt(found, merchant="Soko")
    async with lost.statements.database.begin() as tx:
        reference = await tx.fetchval("SELECT reference FROM transactions")
        finding = OperatorFinding(ResolvedOutcome.FAILED, "The merchant does not know it")
        await propose_case(tx, reference, finding, actor=ASHA, approval_amount=1_000_000, now=clock.now())
    await lost.desk.undo(found)
    await lost.desk.approve(found)
    await lost.adopt(found)
    assert await lost.statements.float_change() == await lost.statements.statement_change()
    await lost.statements.check_ledger()


async def test_a_row_that_is_there_already_for_another_reason_is_no_repeat(lost_payout: Lost) -> None:
    """Here the wallet has counted fewer lines than its statement has. It must be looked at, and not be put down as
    the merchant's repeat."""
    exception = await lost_payout.on_statement()
    database = lost_payout.statements.database
    async with database.begin() as tx:
        await tx.execute("UPDATE wallets SET statement_lines = 0 WHERE merchant_id = $1", lost_payout.merchant_id)
    with pytest.raises(DataError) as raised:
        await lost_payout.adopt(exception)
    assert raised.value.constraint == "moves_statement"
    assert await lost_payout.payments() == 0

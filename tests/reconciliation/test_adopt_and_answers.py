"""Networks' reports about keys while operators adopt, undo and decide: no money is credited or taken twice."""

import pytest

from malipo.errors import Conflict, OutcomeUnknown
from malipo.networks.connector import Verdict
from malipo.payments.cases.resolution import ResolvedOutcome
from malipo.payments.dispatch import AnswerSource
from malipo.payments.store import transactions
from malipo.payments.transaction import Status, Transaction, Type
from malipo.reconciliation.exceptions.action import Action
from tests.conftest import make_merchant
from tests.payments.payment_steps import a_report, steps
from tests.reconciliation.exception_desk import ExceptionDesk, desk
from tests.reconciliation.lost_requests import PHONE, Lost
from tests.reconciliation.statement_days import Statements, statements

__all__ = ["desk", "statements", "steps"]

SOURCES = (AnswerSource.CALLBACK, AnswerSource.QUERY)


@pytest.fixture(params=list(Type))
def lost(statements: Statements, desk: ExceptionDesk, request: pytest.FixtureRequest) -> Lost:
    return Lost(statements, desk, request.param)


@pytest.fixture
def lost_payout(statements: Statements, desk: ExceptionDesk) -> Lost:
    return Lost(statements, desk, Type.DISBURSEMENT)


async def tell_paid(lost: Lost, payment: Transaction) -> None:
    """The network reports the key as paid, by signed callbacks and to queries."""
    for source in SOURCES:
        report = a_report(payment, Verdict.CONFIRMED, source, is_trusted=True, provider_reference="QK1")
        await lost.statements.steps.service.network_work.apply_answer(report)


async def money(lost: Lost) -> list[tuple[int, int]]:
    async with lost.statements.database.read() as connection:
        rows = await connection.fetch("SELECT available, owed FROM wallets ORDER BY merchant_id")
    return [tuple(row) for row in rows]


async def test_a_report_of_a_key_does_not_reach_an_undone_adoption(lost: Lost) -> None:
    """The merchant for whom it was adopted by mistake would be credited, or owe it, again."""
    other = await make_merchant(lost.statements.database, wallet=10_000, name="Soko")
    before = await money(lost)
    found = await lost.on_statement()
    await lost.adopt(found, merchant="Soko")
    await lost.desk.undo(found)
    await lost.desk.approve(found)
    async with lost.statements.database.read() as connection:
        undone = await transactions.find_by_network_key(connection, await lost.network_key())
    assert undone is not None
    assert undone.merchant_id == other.id
    await tell_paid(lost, undone)
    assert await money(lost) == before
    assert await lost.statements.float_change() == 0
    with pytest.raises(Conflict, match="adoption_undone"):
        await lost.desk.propose(found, Action.MATCH, {"payment": undone.reference})
    await lost.adopt(found)
    assert (await lost.repeat()).transaction.provider_reference == "QK1"
    await tell_paid(lost, undone)
    assert await lost.statements.float_change() == await lost.statements.statement_change()
    await lost.statements.check_ledger()


async def test_a_payout_that_resembles_an_adopted_one_waits_whatever_its_network_reports(lost_payout: Lost) -> None:
    """The key may be that of the lost payout itself. Its late callback would complete the repeat, or have it sent."""
    lost = lost_payout
    await lost.adopt(await lost.on_statement(key="", phone="255754***001"), phone=PHONE)
    paid = await money(lost)
    repeat = (await lost.repeat()).transaction
    await tell_paid(lost, repeat)
    await lost.statements.steps.report(repeat, Verdict.MISSING)
    dispatch = await lost.statements.steps.dispatch(repeat)
    assert dispatch is not None
    assert dispatch.review_reason == "resembles_adopted"
    assert await lost.statements.status(repeat) is Status.PENDING
    assert (await lost.statements.steps.claim()).to_send == []
    with pytest.raises(Conflict, match="case_repeat_or_other"):
        await lost.decide(repeat, ResolvedOutcome.COMPLETED)
    await lost.decide(repeat, ResolvedOutcome.FAILED)
    await tell_paid(lost, repeat)
    assert await money(lost) == paid, "it was paid once"
    again = await lost.repeat()
    assert (again.is_replay, again.transaction.status) == (True, Status.FAILED)
    await lost.statements.match()
    assert await lost.statements.kinds() == []
    assert await lost.statements.float_change() == await lost.statements.statement_change()
    await lost.statements.check_ledger()


@pytest.mark.parametrize("then", ["adopted", "booked"])
async def test_a_key_that_operators_mistook_is_free_once_the_line_is_decided_again(lost: Lost, then: str) -> None:
    found = await lost.on_statement(key="", phone="255754***001")
    await lost.adopt(found, phone=PHONE, idempotency_key="other-1")
    await lost.desk.undo(found)
    await lost.desk.approve(found)
    with pytest.raises(OutcomeUnknown):
        await lost.repeat(key="other-1")
    if then == "adopted":
        await lost.adopt(found, phone=PHONE, idempotency_key=lost.key)
        assert (await lost.repeat()).transaction.provider_reference == "QK1"
    else:
        await lost.desk.propose(found, Action.BOOK, {"account": "suspense"})
        if lost.type is Type.DISBURSEMENT:
            await lost.desk.approve(found)
    other = await lost.repeat(key="other-1")
    assert (other.is_replay, other.transaction.status) == (False, Status.PENDING)
    await lost.statements.check_ledger()


async def test_the_key_of_the_line_itself_stays_taken_when_the_line_is_booked(lost_payout: Lost) -> None:
    """The network has paid it, for whomever: under it nothing may be sent."""
    lost = lost_payout
    await make_merchant(lost.statements.database, wallet=10_000, name="Soko")
    found = await lost.on_statement()
    await lost.adopt(found, merchant="Soko")
    await lost.desk.undo(found)
    await lost.desk.approve(found)
    await lost.desk.propose(found, Action.BOOK, {"account": "suspense"})
    await lost.desk.approve(found)
    with pytest.raises(OutcomeUnknown):
        await lost.repeat()


async def test_a_line_without_a_key_is_not_adopted_beside_a_repeat_that_failed(lost_payout: Lost) -> None:
    """Its network may still report it as paid. The line is matched with it, and what is taken is taken once."""
    lost = lost_payout
    found = await lost.on_statement(key="", phone="255754***001")
    [(before, _)] = await money(lost)
    repeat = (await lost.repeat()).transaction
    await lost.statements.steps.claim()
    await lost.statements.steps.report(repeat, Verdict.REFUSED, AnswerSource.SEND)
    with pytest.raises(Conflict, match=repeat.reference):
        await lost.propose(found, phone=PHONE)
    with pytest.raises(Conflict, match=repeat.reference):
        await lost.propose(found, phone=PHONE, idempotency_key=lost.key)
    await lost.desk.propose(found, Action.MATCH, {"payment": repeat.reference})
    await lost.desk.approve(found)
    await tell_paid(lost, repeat)
    [(available, owed)] = await money(lost)
    assert before - available + owed == lost.amount
    assert await lost.statements.float_change() == await lost.statements.statement_change()
    await lost.statements.check_ledger()


async def test_with_the_merchants_key_a_line_is_adopted_beside_another_request_that_failed(lost_payout: Lost) -> None:
    lost = lost_payout
    found = await lost.on_statement(key="", phone="255754***001")
    other = (await lost.repeat(key="other-1")).transaction
    await lost.statements.steps.claim()
    await lost.statements.steps.report(other, Verdict.REFUSED, AnswerSource.SEND)
    await lost.adopt(found, phone=PHONE, idempotency_key=lost.key)
    assert (await lost.repeat()).is_replay

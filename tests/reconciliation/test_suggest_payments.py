"""Payments that a line may be of: none is suggested that matching it with can only refuse."""

from malipo import clock
from malipo.errors import Conflict
from malipo.networks.connector import Verdict
from malipo.payments.transaction import Type
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.exceptions.suggest_payments import suggest_payments
from malipo.reconciliation.matching.exception import ReconciliationException
from tests.conftest import make_merchant
from tests.payments.payment_steps import steps
from tests.reconciliation.exception_desk import ExceptionDesk, desk
from tests.reconciliation.lost_requests import PHONE, Lost
from tests.reconciliation.statement_days import Entry, Statements, statements

__all__ = ["desk", "statements", "steps"]


async def _suggested_and_refused(
    statements: Statements, desk: ExceptionDesk, found: ReconciliationException
) -> list[str]:
    async with statements.database.read() as connection:
        suggested = await suggest_payments(connection, found)
    refused = []
    for each in suggested:
        try:
            await desk.propose(found, Action.MATCH, {"payment": each.reference})
            await desk.reject(found)
        except Conflict as error:
            refused.append(str(error))
    return refused


async def test_an_undone_adoption_is_not_suggested(statements: Statements, desk: ExceptionDesk) -> None:
    lost = Lost(statements, desk, Type.COLLECTION)
    await make_merchant(statements.database, wallet=10_000, name="Soko")
    found = await lost.on_statement()
    await lost.adopt(found, merchant="Soko")
    await desk.undo(found)
    await desk.approve(found)
    assert await _suggested_and_refused(statements, desk, found) == []


async def test_a_payment_whose_receipt_is_on_another_line_is_not_suggested(
    statements: Statements, desk: ExceptionDesk
) -> None:
    now = clock.now()
    await statements.take(Entry("QK5", -4_321, now, phone=PHONE), Entry("QK6", -4_321, now, phone=PHONE))
    lost = Lost(statements, desk, Type.DISBURSEMENT)
    paid = (await lost.repeat()).transaction
    await statements.steps.claim()
    await statements.steps.report(paid, Verdict.CONFIRMED, provider_reference="QK5")
    found = next(each for each in await statements.open_exceptions() if each.receipt == "QK6")
    assert await _suggested_and_refused(statements, desk, found) == []

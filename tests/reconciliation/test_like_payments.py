"""Lines without a key, and payments of one number and amount: which line is whose."""

import pytest

from malipo import clock
from malipo.errors import Conflict
from malipo.networks.connector import Verdict
from malipo.payments.transaction import Status, Transaction, Type
from malipo.reconciliation.exceptions.action import Action
from malipo.reconciliation.matching.exception import ReconciliationException
from tests.payments.payment_steps import steps
from tests.reconciliation.exception_desk import ExceptionDesk, desk
from tests.reconciliation.statement_days import Entry, Statements, statements

__all__ = ["desk", "statements", "steps"]


async def _paid_with_first_of_two(
    statements: Statements,
) -> tuple[Transaction, ReconciliationException]:
    """A payout whose receipt came after the statement, which has two lines like it; and the line that is another's."""
    payout = await statements.steps.processing(Type.DISBURSEMENT, 500)
    lines = [Entry(receipt, -500, clock.now(), phone=payout.phone) for receipt in ("QK1", "QK2")]
    await statements.take(*lines)
    paid = await statements.steps.report(payout, Verdict.CONFIRMED, provider_reference="QK1")
    [other] = [each for each in await statements.open_exceptions() if each.receipt == "QK2"]
    return paid.transaction, other


async def test_a_line_is_not_matched_with_a_payment_whose_receipt_is_on_another(
    statements: Statements, desk: ExceptionDesk
) -> None:
    payout, other = await _paid_with_first_of_two(statements)
    with pytest.raises(Conflict, match="match_receipt_elsewhere"):
        await desk.propose(other, Action.MATCH, {"payment": payout.id})


async def test_a_line_is_adopted_beside_a_payment_whose_receipt_is_on_another(
    statements: Statements, desk: ExceptionDesk
) -> None:
    payout, other = await _paid_with_first_of_two(statements)
    await desk.propose(other, Action.ADOPT, {"merchant": payout.merchant_id, "phone": payout.phone})
    await desk.approve(other)
    await statements.match()
    assert await statements.open_exceptions() == []
    await statements.check_ledger()


async def test_a_line_is_not_matched_with_a_paid_payment_while_another_has_its_receipt(
    statements: Statements, desk: ExceptionDesk
) -> None:
    """The other would be left without a line, and the line of the paid one would be adopted: debited once too often."""
    others = await statements.steps.ended(Type.DISBURSEMENT, Status.COMPLETED, 500)
    payout, other = await _paid_with_first_of_two(statements)
    [line] = [each for each in await statements.open_exceptions() if each.receipt == "QK1"]
    with pytest.raises(Conflict, match=f"match_another_has_receipt payment='{payout.reference}'"):
        await desk.propose(line, Action.MATCH, {"payment": others.id})
    await desk.propose(line, Action.MATCH, {"payment": payout.id})
    await desk.propose(other, Action.MATCH, {"payment": others.id})
    await desk.approve(line)
    await desk.approve(other)
    await statements.match()
    assert await statements.open_exceptions() == []
    await statements.check_ledger()


async def test_a_match_that_waits_is_refused_when_another_payment_has_got_the_receipt(
    statements: Statements, desk: ExceptionDesk
) -> None:
    payouts = [await statements.steps.processing(Type.DISBURSEMENT, 500) for _ in range(2)]
    await statements.take(Entry("QK1", -500, clock.now(), phone=payouts[0].phone))
    others = (await statements.steps.report(payouts[0], Verdict.CONFIRMED)).transaction
    [line] = [each for each in await statements.open_exceptions() if each.receipt == "QK1"]
    await desk.propose(line, Action.MATCH, {"payment": others.id})
    payout = (await statements.steps.report(payouts[1], Verdict.CONFIRMED, provider_reference="QK1")).transaction
    with pytest.raises(Conflict, match=f"match_another_has_receipt payment='{payout.reference}'"):
        await desk.approve(line)


async def test_a_receipt_that_operators_typed_blocks_no_match_for_ever(
    statements: Statements, desk: ExceptionDesk
) -> None:
    """The line has the key of one payment, and another, which was not paid after all, has its receipt."""
    right = await statements.steps.ended(Type.COLLECTION, Status.FAILED, 900)
    wrong = (
        await statements.steps.report(
            await statements.steps.processing(Type.COLLECTION, 900), Verdict.CONFIRMED, provider_reference="QK1"
        )
    ).transaction
    await statements.take(Entry("QK1", 900, clock.now(), key=right.network_key))
    [line] = [each for each in await statements.open_exceptions() if each.receipt == "QK1"]
    with pytest.raises(Conflict, match=f"match_another_has_key payment='{right.reference}'"):
        await desk.propose(line, Action.MATCH, {"payment": wrong.reference})
    await desk.propose(line, Action.MATCH, {"payment": right.reference})


async def test_a_line_that_names_a_payment_is_about_it_whatever_its_words_and_amount(statements: Statements) -> None:
    payout = await statements.completed(Type.DISBURSEMENT, 1001)
    await statements.take(Entry("QK9", -500, clock.now(), "Bank of my uncle", key=payout.network_key))
    found = [each for each in await statements.open_exceptions() if each.receipt == "QK9"]
    assert [(each.kind, each.transaction_id) for each in found] == [("amount_differs", payout.id)]

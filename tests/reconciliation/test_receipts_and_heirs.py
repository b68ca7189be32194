"""A receipt that one operator names credits nothing; a line that one file inherits from another stops no matching."""

from datetime import timedelta

import pytest

from malipo import clock
from malipo.payments.resolution import Finding, ResolvedOutcome
from malipo.payments.resolve import propose
from malipo.payments.transaction import Status, Type
from malipo.reconciliation.withdraw_statement import WithdrawStatements
from tests.payments.payment_steps import steps as steps
from tests.reconciliation.statement_days import ASHA, JUMA, Entry
from tests.reconciliation.statement_days import statements as statements
from tests.reconciliation.test_import_approval import MILLIONS, WHY, WORKER, Desk, fee, fees
from tests.reconciliation.test_import_approval import desk as desk


@pytest.mark.parametrize("is_line_first", [True, False])
async def test_a_receipt_that_one_operator_names_does_not_credit_a_payment(desk: Desk, is_line_first: bool) -> None:
    """Nine millions came in that are nobody's yet: that line is matched by two operators. Asha calls an open collection
    of the same amount failed, which she may alone, and names the line's receipt."""
    before, amount = await desk.wallet(), 9_000_000
    payment = await desk.statements.steps.processing(Type.COLLECTION, amount)
    await desk.statements.steps.wait(payment, seconds=0)
    line = Entry("TOPUP77", amount, clock.now(), "Funds received from agent", phone="255754999999")
    path = desk.statements.write(line)

    async def fetch() -> None:
        await desk.bring(path, by=WORKER)
        await desk.statements.match()

    if is_line_first:
        await fetch()
        assert await desk.statements.kinds() == [("theirs_only", amount)]
    async with desk.database.begin() as tx:
        finding = Finding(ResolvedOutcome.FAILED, "The customer says that they did not pay", "TOPUP77")
        resolved = await propose(tx, payment.reference, finding, actor=ASHA, approval_amount=1_000_000, now=clock.now())
    assert (resolved.is_done, resolved.transaction.status) == (True, Status.FAILED)
    if not is_line_first:
        await fetch()
    await desk.statements.match()
    assert await desk.wallet() == before


@pytest.mark.parametrize("details", ["Transaction fee", "Payment"])
async def test_a_file_that_inherits_before_it_is_matched_stops_no_matching(desk: Desk, details: str) -> None:
    """The worker has imported the same line, and died before it matched it. Then the operators' file is withdrawn."""
    entry = fee(500, details=details)
    file = (await desk.bring(desk.statements.write(entry))).file
    await desk.statements.match()
    await desk.bring(desk.statements.write(entry, ends=clock.now() + timedelta(days=3)), by=WORKER)
    acts = WithdrawStatements(1_000_000)
    async with desk.database.begin() as tx:
        await acts.propose_withdrawal(tx, file.id, reason=WHY, actor=ASHA, now=clock.now())
    async with desk.database.begin() as tx:
        await acts.approve(tx, file.id, actor=JUMA, now=clock.now())
    await desk.statements.match()
    await desk.statements.check_ledger()


@pytest.mark.parametrize("words", ["Transaction fee", "Sweep between accounts"])
async def test_the_networks_own_line_does_not_vouch_for_an_operators_words(desk: Desk, words: str) -> None:
    """Only the operator's file calls it a fee; the network's has the line, and says that it went to a customer."""
    before, at = await fees(desk), clock.now() - timedelta(hours=1)
    await desk.bring(desk.statements.write(Entry("X1", -MILLIONS, at, words), name="asha.csv"), ASHA)
    assert (await desk.statements.match()).held == 1
    told = Entry("X1", -MILLIONS, at, "Sent to 255754000666")
    await desk.bring(desk.statements.write(told, ends=clock.now() + timedelta(days=3)), by=WORKER)
    await desk.statements.match()
    assert await fees(desk) == before
    assert len(await desk.waiting()) == 1

"""What one operator alone cannot do with receipts, files and their words; and what a withdrawal leaves to another file."""

from datetime import timedelta
from decimal import Decimal

import pytest

from malipo import clock
from malipo.errors import Conflict
from malipo.payments.resolution import Finding, ResolvedOutcome
from malipo.payments.resolve import propose
from malipo.payments.transaction import Status, Type
from malipo.reconciliation.store import resolutions
from malipo.reconciliation.withdraw_statement import WithdrawStatements
from tests.payments.payment_steps import steps as steps
from tests.reconciliation.lost_requests import PHONE, Lost
from tests.reconciliation.statement_days import ASHA, JUMA, Entry, Statements
from tests.reconciliation.statement_days import statements as statements
from tests.reconciliation.test_import_approval import MILLIONS, WHY, WORKER, Desk, fee, fees
from tests.reconciliation.test_import_approval import desk as desk
from tests.reconciliation.test_resolve_exceptions import Desk as ExceptionsDesk


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


async def test_cents_count(desk: Desk) -> None:
    at, before = clock.now() - timedelta(hours=1), await fees(desk)
    await desk.bring(
        desk.statements.write(*(Entry(f"C{n}", Decimal("-1.49"), at, "Transaction fee") for n in range(9)))
    )
    assert (await desk.statements.match(10)).held == 9, "13.41 are more than 10"
    assert await fees(desk) == before


async def test_the_number_of_an_adopted_payout_is_the_one_that_was_seen(statements: Statements) -> None:
    """The operator who proposed it imports the line again with another number: the merchant's repeat would be sent."""
    desk, imports = ExceptionsDesk(statements.database), Desk(statements)
    lost = Lost(statements, desk, Type.DISBURSEMENT)
    found = await lost.on_statement(key="", phone=PHONE.removeprefix("+"))
    await lost.propose(found)
    async with statements.database.snapshot() as connection:
        proposal = await resolutions.find_proposal(connection, found.id)
        assert proposal is not None
        seen = await desk.resolve.find_code(connection, proposal)
    assert found.moved_at is not None
    other = Entry("QK1", -lost.amount, found.moved_at, phone="+255754000009")
    await imports.bring(statements.write(other, ends=clock.now() + timedelta(days=3)), ASHA)
    with pytest.raises(Conflict):
        async with statements.database.begin() as tx:
            await desk.resolve.approve(tx, found.id, actor=JUMA, now=clock.now(), seen=seen)

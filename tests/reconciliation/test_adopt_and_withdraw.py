"""Adopting lines, and statements that are withdrawn, imported again, or completed by a second file."""

import pytest

from malipo import clock
from malipo.errors import Conflict
from malipo.payments.transaction import Type
from tests.conftest import make_merchant
from tests.payments.payment_steps import steps
from tests.reconciliation.exception_desk import ExceptionDesk, desk
from tests.reconciliation.lost_requests import PHONE, Lost
from tests.reconciliation.statement_days import WORKER, Entry, Statements, reversal_of, statements
from tests.reconciliation.test_withdraw_statement import withdraw

__all__ = ["desk", "statements", "steps"]


@pytest.fixture(params=list(Type))
def lost(statements: Statements, desk: ExceptionDesk, request: pytest.FixtureRequest) -> Lost:
    return Lost(statements, desk, request.param)


@pytest.mark.parametrize("has_key", [True, False])
async def test_a_line_whose_adoption_was_undone_is_adopted_again_after_its_file_was_withdrawn_and_imported_again(
    lost: Lost, has_key: bool
) -> None:
    """The wrong merchant's payment has the line's key and receipt. The new line is not matched with it by itself."""
    await make_merchant(lost.statements.database, wallet=10_000, name="Soko")
    signed = lost.amount if lost.type is Type.COLLECTION else -lost.amount
    paid = Entry("QK1", signed, clock.now(), key=await lost.network_key() if has_key else "", phone=PHONE)
    path = lost.statements.write(paid)
    file = (await lost.statements.load(path)).file
    await lost.statements.match()
    [found] = await lost.statements.open_exceptions()
    await lost.adopt(found, merchant="Soko")
    with pytest.raises(Conflict, match="withdraw_decided"):
        await withdraw(lost.statements, file.id)
    await lost.desk.undo(found)
    await lost.desk.approve(found)
    await withdraw(lost.statements, file.id)
    await lost.statements.match()
    assert await lost.statements.float_change() == 0
    await lost.statements.load(path)
    await lost.statements.match()
    assert await lost.statements.matches() == []
    assert await lost.statements.kinds() == [("theirs_only", signed)]
    [again] = await lost.statements.open_exceptions()
    await lost.adopt(again, idempotency_key=lost.key)
    assert (await lost.repeat()).transaction.provider_reference == "QK1"
    assert await lost.payments() == 2
    assert await lost.statements.float_change() == await lost.statements.statement_change()
    await lost.statements.match()
    assert await lost.statements.kinds() == []
    await lost.statements.check_ledger()


async def test_a_key_that_the_workers_file_adds_to_an_adopted_line_is_the_payments(lost: Lost) -> None:
    """The repeat of the lost request finds it, as if the first file had had the key."""
    signed = lost.amount if lost.type is Type.COLLECTION else -lost.amount
    paid = Entry("QK1", signed, clock.now(), phone=PHONE)
    await lost.statements.take(paid)
    [found] = await lost.statements.open_exceptions()
    await lost.adopt(found)
    key = await lost.network_key()
    reported = Entry("QK1", signed, paid.at, key=key, phone=PHONE)
    await lost.statements.load(lost.statements.write(reported), by=WORKER)
    await lost.statements.match()
    again = await lost.repeat()
    assert again.is_replay
    assert again.transaction.provider_reference == "QK1"
    await lost.check()


async def test_a_reversal_that_took_an_adopted_payment_back_is_withdrawn_and_imported_again(lost: Lost) -> None:
    statements, before = lost.statements, await lost.spendable()
    signed = lost.amount if lost.type is Type.COLLECTION else -lost.amount
    paid = Entry("QK1", signed, clock.now(), key=await lost.network_key(), phone=PHONE)
    await statements.take(paid)
    path = statements.write(reversal_of(paid), has_balances=False)
    file = (await statements.load(path, by=WORKER)).file
    await statements.match()
    [found] = [each for each in await statements.open_exceptions() if each.receipt == "QK1"]
    await lost.adopt(found)
    assert await statements.float_change() == 0
    await withdraw(statements, file.id)
    await statements.match()
    assert (await lost.spendable(), await statements.float_change()) == (before + signed, signed)
    assert await statements.kinds() == []
    await statements.load(path, by=WORKER)
    await statements.match()
    assert (await statements.float_change(), await statements.kinds()) == (0, [("state_differs", -signed)])
    await statements.check_ledger()

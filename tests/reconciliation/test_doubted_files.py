"""malipo itself proposes to withdraw an operator's file whose lines the worker has fetched: who agrees with that."""

from datetime import timedelta

import pytest

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.errors import Forbidden
from malipo.reconciliation.imports.withdraw_statement import WithdrawStatements
from tests.operators.booking_steps import give_password, hire
from tests.payments.payment_steps import steps as steps
from tests.reconciliation.import_desk import MILLIONS, ImportDesk, fee, fees
from tests.reconciliation.import_desk import desk as desk
from tests.reconciliation.statement_days import ASHA, JUMA, WORKER, Entry
from tests.reconciliation.statement_days import statements as statements
from tests.reconciliation.test_one_operators_files import bring_as_another, later


async def doubted(desk: ImportDesk, amount: int) -> str:
    """asha's file with a fee, which two have approved if it is large. The worker fetches another line of it as one of
    another account."""
    shared = Entry("QSHARED123", -5000, clock.now() - timedelta(hours=1), "Sent to 255754000666")
    file = (await bring_as_another(desk, desk.statements.write(shared, fee(amount)))).file
    if (await desk.statements.match()).awaiting_approval:
        await desk.approve(file.id, by=JUMA)
    await desk.bring(desk.statements.write(shared, ends=later(4)), WORKER)
    await desk.statements.match()
    return file.id


async def agree(desk: ImportDesk, file_id: str, by: Actor) -> bool:
    """Whether it is withdrawn then."""
    async with desk.database.begin() as tx:
        done = await WithdrawStatements(1_000_000).approve(tx, file_id, actor=by, now=clock.now())
    return done.decided_at is not None


@pytest.mark.parametrize("amount", [100_000, MILLIONS])
async def test_the_importer_of_a_file_does_not_withdraw_it_with_malipo_alone(desk: ImportDesk, amount: int) -> None:
    before = await fees(desk)
    file_id = await doubted(desk, amount)
    booked = await fees(desk)
    assert booked != before
    with pytest.raises(Forbidden):
        await agree(desk, file_id, by=ASHA)
    assert await fees(desk) == booked


async def test_below_the_amount_an_operator_without_a_part_in_it_agrees_and_that_counts(desk: ImportDesk) -> None:
    before = await fees(desk)
    file_id = await doubted(desk, 100_000)
    assert await agree(desk, file_id, by=JUMA)
    assert await fees(desk) == before
    async with desk.database.read() as connection:
        sql = "SELECT operator, amount FROM moved_alone WHERE action = 'withdraw_doubted'"
        assert [tuple(row) for row in await connection.fetch(sql)] == [(JUMA.name, 100_000)]
    await desk.statements.check_ledger()


async def test_above_the_amount_two_operators_agree(desk: ImportDesk) -> None:
    """The first of them is who proposes it from then on. The importer may be the second, as of any withdrawal."""
    before = await fees(desk)
    file_id = await doubted(desk, MILLIONS)
    booked = await fees(desk)
    assert not await agree(desk, file_id, by=JUMA)
    with pytest.raises(Forbidden):
        await agree(desk, file_id, by=JUMA)
    assert await fees(desk) == booked
    assert await agree(desk, file_id, by=ASHA)
    assert await fees(desk) == before
    await desk.statements.check_ledger()


async def test_an_operator_whom_the_importer_has_reset_does_not_agree_with_malipo(desk: ImportDesk) -> None:
    await hire(desk.database, "asha", "juma")
    file_id = await doubted(desk, 100_000)
    await give_password(desk.database, "juma", by=ASHA)
    with pytest.raises(Forbidden):
        await agree(desk, file_id, by=JUMA)

"""Money of a sweep that two operators credited to a merchant, and whose lines turn out to be payments later."""

import pytest

from malipo import clock
from malipo.approvals import booking_approval
from malipo.books import suspense
from malipo.errors import Conflict
from malipo.ledger.bookings import Booking, BookingKind
from malipo.ledger.store import wallets
from malipo.networks.connector import Verdict
from malipo.payments.transaction import Type
from tests.payments.payment_steps import steps as steps
from tests.reconciliation.statement_days import ASHA, JUMA, Entry, Statements
from tests.reconciliation.statement_days import statements as statements
from tests.reconciliation.test_withdraw_statement import approve, propose


async def sweep_of(statements: Statements) -> str:
    async with statements.database.read() as connection:
        found = await connection.fetchval(
            """
            SELECT id FROM house_bookings b WHERE kind = 'sweep'
            AND NOT EXISTS (SELECT FROM house_bookings u WHERE u.reverses = b.id)
            """
        )
    return str(found)


async def release(statements: Statements, booking: str, amount: int, reference: str = "OURS-1") -> None:
    await by_two(statements, BookingKind.SUSPENSE_RELEASE, booking, amount, reference)


async def take_back(statements: Statements, booking: str, amount: int, reference: str = "BACK-1") -> None:
    await by_two(statements, BookingKind.SUSPENSE_TAKE_BACK, booking, amount, reference)


async def by_two(statements: Statements, kind: BookingKind, booking: str, amount: int, reference: str) -> None:
    wanted = Booking(kind, statements.steps.merchant_id, amount, reference, booking)
    async with statements.database.begin() as tx:
        await booking_approval.request(tx, wanted, approval_amount=10**9, actor=ASHA, now=clock.now())
    async with statements.database.begin() as tx:
        await booking_approval.approve(tx, reference, actor=JUMA, now=clock.now())


async def in_suspense(statements: Statements) -> list[tuple[str, int]]:
    async with statements.database.snapshot() as connection:
        found = await suspense.find(connection, now=clock.now())
    assert found.without_cause == 0
    return [(each.cause, each.amount) for each in found.items]


async def wallet(statements: Statements) -> int:
    async with statements.database.read() as connection:
        return (await wallets.get(connection, statements.steps.merchant_id))[0].available


@pytest.mark.parametrize("amount", [900, 1])
async def test_matching_goes_on_and_what_the_merchant_has_of_the_sweep_is_missing(
    statements: Statements, amount: int
) -> None:
    payment = await statements.steps.processing(Type.COLLECTION, 900)
    assert (await statements.take(Entry("QK1", 900, clock.now(), "Sweep of the yard"))).booked_sweeps == 900
    booking, before = await sweep_of(statements), await wallet(statements)
    await release(statements, booking, amount)
    await statements.steps.report(payment, Verdict.CONFIRMED, provider_reference="QK1")
    credited = await wallet(statements) - before
    other = await statements.completed(Type.COLLECTION, 4321)
    await statements.take(Entry(str(other.provider_reference), 4321, clock.now(), key=other.network_key))
    assert await statements.matches() == sorted(
        [("QK1", payment.id, "payment"), (str(other.provider_reference), other.id, "payment")]
    )
    assert await statements.open_exceptions() == []
    # The network has moved it once, and so has the float. The merchant has it twice, until it is taken back.
    assert await statements.float_change() == await statements.statement_change() == 900 + 4321
    assert (credited > amount, await in_suspense(statements)) == (True, [(booking, -amount)])
    await statements.match()
    assert await in_suspense(statements) == [(booking, -amount)]
    with pytest.raises(Conflict, match="suspense_too_much"):
        await release(statements, booking, 1, "OURS-2")
    await statements.check_ledger()
    held = await wallet(statements)
    await take_back(statements, booking, amount)
    assert (await in_suspense(statements), await wallet(statements)) == ([], held - amount)
    await statements.check_ledger()


async def test_the_other_lines_of_a_released_sweep_stay_in_suspense(statements: Statements) -> None:
    payment = await statements.steps.processing(Type.COLLECTION, 900)
    now = clock.now()
    await statements.take(Entry("QK1", 900, now, "Sweep of the yard"), Entry("QK2", 500, now, "Sweep of the shop"))
    booking = await sweep_of(statements)
    await release(statements, booking, 600)
    await statements.steps.report(payment, Verdict.CONFIRMED, provider_reference="QK1")
    await statements.match()
    again = await sweep_of(statements)
    assert sorted(await in_suspense(statements)) == sorted([(booking, -600), (again, 500)])
    assert await statements.float_change() == await statements.statement_change() == 1400
    await statements.check_ledger()


async def test_a_statement_of_which_a_merchant_has_something_is_withdrawn_once_that_is_taken_back(
    statements: Statements,
) -> None:
    file = (await statements.load(statements.write(Entry("S", 40, clock.now(), "Sweep between accounts")))).file
    await statements.match()
    booking = await sweep_of(statements)
    await release(statements, booking, 30)
    await propose(statements, file.id)
    with pytest.raises(Conflict, match="suspense_released"):
        await approve(statements, file.id)
    assert await in_suspense(statements) == [(booking, 10)]
    await take_back(statements, booking, 30)
    await approve(statements, file.id)
    assert (await in_suspense(statements), await statements.float_change()) == ([], 0)
    await statements.check_ledger()

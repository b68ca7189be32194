"""Suspense has causes of several kinds at once: an adopted settlement that the wallet cannot bear, and a sweep of which
the same merchant was credited something."""

import pytest

from malipo import clock
from malipo.books import suspense
from malipo.ledger import bookings, check
from malipo.ledger.bookings import Booking, BookingKind, WalletTooLow
from malipo.monitoring import gauges_store
from malipo.reconciliation.exceptions.store import house_balances
from malipo.settlement import adopt
from tests.ledger.suspense_bookings import in_suspense
from tests.settlement.settlement_steps import SettlementSteps
from tests.settlement.settlement_steps import steps as steps
from tests.settlement.test_restore import adopted


async def book(steps: SettlementSteps, kind: BookingKind, cause: str, amount: int, reference: str) -> None:
    booking = Booking(kind, steps.merchant_id, amount, reference, cause)
    async with steps.database.begin() as tx:
        await bookings.book_proposed(tx, f"bok_{reference}", booking, now=clock.now())


async def causes(steps: SettlementSteps) -> dict[str, int]:
    """What is in suspense by cause, after the list, the account, the gauge and the check agree."""
    async with steps.database.snapshot() as connection:
        found = await suspense.find(connection, now=clock.now())
        assert found.without_cause == 0
        assert (await gauges_store.find_sums(connection))["suspense_shillings"] == found.balance
        assert await check.check(connection) == []
        # As who decides about an exception is shown them.
        shown, counted = await house_balances.find(connection), await check.balances(connection)
        assert (shown["bank"], shown["suspense"]) == (counted["bank"], counted["suspense"])
    return {each.cause: each.amount for each in found.items}


async def test_a_debt_comes_before_what_is_taken_back_and_a_return_ends_the_debt(steps: SettlementSteps) -> None:
    await steps.requested(950_000)
    settlement = await adopted(steps, "HJKMNPQRSTVWXYZ0", 80_000)
    sweep = await in_suspense(steps.database, 40_000)
    assert await causes(steps) == {settlement.id: -30_000, sweep: 40_000}
    await book(steps, BookingKind.SUSPENSE_RELEASE, sweep, 25_000, "OURS-1")
    assert await causes(steps) == {settlement.id: -30_000, sweep: 15_000}
    with pytest.raises(WalletTooLow):  # The wallet has 25,000, and owes more.
        await book(steps, BookingKind.SUSPENSE_TAKE_BACK, sweep, 1, "BACK-1")
    async with steps.database.begin() as tx:
        assert (await adopt.collect(tx, settlement.id, now=clock.now())).owed == 5_000
    assert await causes(steps) == {settlement.id: -5_000, sweep: 15_000}
    await steps.give_back(settlement)
    assert (await causes(steps), (await steps.wallet()).owed) == ({sweep: 15_000}, 0)
    await book(steps, BookingKind.SUSPENSE_TAKE_BACK, sweep, 25_000, "BACK-1")
    assert (await causes(steps), (await steps.wallet()).available) == ({sweep: 40_000}, 50_000)

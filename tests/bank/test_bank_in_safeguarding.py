"""Safeguarding believes the bank's statements, not the ledger: what the bank should have booked by now, and has not, is
not there."""

from datetime import timedelta

from malipo.bank.balance import find_seen
from malipo.ledger.bookings import BookingKind, book
from malipo.reconciliation.close.safeguarding import BankSeen
from tests.bank.bank_desk import BankDesk
from tests.bank.bank_desk import desk as desk
from tests.ledger.suspense_bookings import in_suspense

LONG = timedelta(days=11)
BEFORE = 500_000_000  # what the bank held before malipo, which nobody has booked


async def seen(desk: BankDesk) -> BankSeen | None:
    async with desk.database.snapshot() as connection:
        return await find_seen(connection)


async def test_what_the_bank_does_not_have_is_not_there(desk: BankDesk) -> None:
    assert await seen(desk) is None, "no statement says anything"
    first = desk.today
    async with desk.database.begin() as tx:
        await book(tx, BookingKind.TOP_UP, desk.merchant.id, 50_000, reference="NMB-1", now=desk.now)
    desk.at = desk.now + timedelta(days=1)
    await desk.bring(first)
    # The bank may still book it, and the wallet's first money, which was booked after all of these days.
    assert await seen(desk) == BankSeen(gap=BEFORE, unexplained=0)
    desk.move(700, "STRANGER")
    desk.at = desk.now + LONG
    await desk.bring(first, desk.today - timedelta(days=1))
    assert await seen(desk) == BankSeen(gap=BEFORE + 700 - 50_000, unexplained=0)
    desk.move(50_000, "NMB-1")
    desk.at = desk.now + timedelta(days=1)
    await desk.bring(first + LONG, desk.today - timedelta(days=1))
    assert await seen(desk) == BankSeen(gap=BEFORE + 700, unexplained=0)


async def test_a_release_out_of_suspense_is_nothing_of_the_bank(desk: BankDesk) -> None:
    first = desk.today
    cause = await in_suspense(desk.database, 900)
    async with desk.database.begin() as tx:
        await tx.execute(
            "INSERT INTO bookings (id, merchant_id, kind, bank_reference, amount, releases, created_at) "
            "VALUES ('bok_1', $1, 'suspense_release', 'OURS-1', 900, $2, $3)",
            desk.merchant.id,
            cause,
            desk.now,
        )
    desk.move(900, "OURS-1")
    desk.at = desk.now + LONG
    await desk.bring(first, desk.today - timedelta(days=1))
    assert await desk.kinds() == ["unknown_credit"], "a line is not matched with it"
    assert await seen(desk) == BankSeen(gap=BEFORE + 900, unexplained=0)

"""The files of a month say whose money something is about, as it was known at its end."""

from datetime import date
from pathlib import Path

from malipo import ids
from malipo.books.entry import Entry
from malipo.books.read_journal import Period, read_journal
from malipo.db import Database
from malipo.ledger import bookings
from malipo.ledger.bookings import Booking, BookingKind
from malipo.ledger.house_bookings import HouseBookingKind
from malipo.month_end import casework_store, store
from malipo.month_end.month import Month
from tests.bank.bank_desk import BankDesk, desk
from tests.reconciliation.close.books import Books, at

__all__ = ["desk"]

MONTH = Month(2026, 10)
DAY, LAST, NEXT = date(2026, 10, 28), date(2026, 10, 31), date(2026, 11, 1)


async def test_a_cause_in_suspense_names_the_payment_of_its_line_and_to_whom_money_of_it_was_released(
    database: Database, tmp_path: Path
) -> None:
    """R1's line is there twice: the second one is in suspense. What is released in the next month is in that one's."""
    books = await Books.begin(database, tmp_path)
    await books.paid("R1", 5_000, at(DAY))
    lines = [("R1", 5_000, "12:00:00", "money"), ("R1 AGAIN", 5_000, "12:00:01", "money")]
    await books.statement(DAY, lines, opening=0)
    line = await books.line_id("R1 AGAIN")
    second = await books.book(HouseBookingKind.LINE, 5_000, DAY, line_id=line, booked_at=at(DAY))
    id_ = await books.exception("twice", "R1 AGAIN")
    async with database.begin() as tx:
        await tx.execute(
            "UPDATE reconciliation_exceptions SET merchant_id = $2, transaction_id = $3, found_at = $4 WHERE id = $1",
            *(id_, books.merchant_id, books.payments["R1"], at(DAY)),
        )
        for number, when in enumerate((at(LAST), at(NEXT))):
            booking = Booking(BookingKind.SUSPENSE_RELEASE, books.merchant_id, 2_000, f"OURS-{number}", second.id)
            await bookings.book_proposed(tx, ids.mint(bookings.ID_PREFIX, when), booking, now=when)
    async with database.snapshot() as connection:
        [row] = await casework_store.suspense_at(connection, MONTH)
        journal = read_journal(connection, Period.of(DAY, LAST))
        entries = {str(each.kind): each async for each in journal if isinstance(each, Entry)}
    assert (row["merchant_id"], row["reference"]) == (books.merchant_id, books.payments["R1"])
    assert (row["receipt"], row["amount"]) == ("R1 AGAIN", 3_000)
    assert row["released_to"] == f"{books.merchant_id} 2000"
    assert entries["line"].receipt == "R1 AGAIN"
    assert entries["suspense_release"].evidence == second.id


async def test_payments_and_exceptions_say_what_was_adopted_and_corrected_until_the_end(
    database: Database, tmp_path: Path
) -> None:
    books = await Books.begin(database, tmp_path)
    await books.paid("R1", 5_000, at(DAY))
    await books.paid("R2", 4_000, at(DAY))
    await books.statement(DAY, [("R1", 5_000, "12:00:00", "money")], opening=0)
    line = await books.line_id("R1")
    id_ = await books.exception("theirs_only", "R1")
    async with database.begin() as tx:
        await tx.execute("UPDATE reconciliation_exceptions SET found_at = $2 WHERE id = $1", id_, at(DAY))
        await tx.execute(
            """
            INSERT INTO adopted_payments (merchant_id, transaction_id, line_id, channel, phone, amount, adopted_at)
            VALUES ($1, $2, $3, 'MPESA', '', 5000, $4)
            """,
            *(books.merchant_id, books.payments["R1"], line, at(LAST)),
        )
        for number, (outcome, credited, when) in enumerate(
            (("failed", -3_990, at(DAY, "15:00")), ("completed", 3_990, at(LAST)), ("failed", -3_990, at(NEXT)))
        ):
            await tx.execute(
                """
                INSERT INTO resolutions (id, merchant_id, transaction_id, outcome, is_of_contradiction, evidence,
                                         requested_by, requested_at, decided_by, decided_at, is_approved, credited)
                VALUES ($1, $2, $3, $4, true, 'Their letter', 'operator asha', $5, 'operator juma', $5, true, $6)
                """,
                *(f"res_{number}", books.merchant_id, books.payments["R2"], outcome, when, credited),
            )
    async with database.snapshot() as connection:
        payments = {row["receipt"]: row async for row in store.payments_of(connection, MONTH)}
        [exception] = [row async for row in casework_store.exceptions_of(connection, MONTH)]
    first, second = payments["R1"], payments["R2"]
    assert (first["is_adopted"], first["outcome"], first["credited"]) == (True, None, None)
    assert (second["is_adopted"], second["outcome"], second["credited"]) == (False, "completed", 0)
    assert second["decided_at"] == at(LAST)
    assert (exception["reference"], exception["merchant_id"]) == (books.payments["R1"], books.merchant_id)


async def test_a_line_of_the_bank_that_was_booked_has_the_banks_own_reference_in_the_journal(desk: BankDesk) -> None:
    desk.move(-7_000, "FT-CHARGE")
    await desk.bring(desk.today)
    [exception] = await desk.exceptions()
    await desk.decide(exception, "book", account="bank_charges")
    async with desk.database.snapshot() as connection:
        journal = read_journal(connection, Period.of(desk.today, desk.today))
        found = [each async for each in journal if isinstance(each, Entry) and each.kind == "bank_line"]
    assert [each.reference for each in found] == ["FT-CHARGE"]

"""Money in suspense without a known owner."""

from malipo import clock, ids
from malipo.db import Database
from malipo.ledger import bookings, house_bookings
from malipo.ledger.accounts import Account
from malipo.ledger.bookings import Booking, BookingKind
from malipo.ledger.house_bookings import ID_PREFIX, HouseBooking, HouseBookingKind


async def in_suspense(database: Database, amount: int, *, days_ago: int = 0) -> str:
    """The id of the booking that has put it there."""
    now = clock.now()
    booking = HouseBooking(
        id=ids.mint(ID_PREFIX, now),
        kind=HouseBookingKind.SWEEP,
        channel="MPESA",
        source=Account.FLOAT,
        target=Account.SUSPENSE,
        amount=amount,
        reference=str(clock.day_of(now)),
        value_date=clock.day_of(now),
        booked_by="malipo",
    )
    async with database.begin() as tx:
        assert await house_bookings.book(tx, [booking], now=now)
        await tx.execute(
            "UPDATE house_bookings SET booked_at = booked_at - make_interval(days => $2) WHERE id = $1",
            booking.id,
            days_ago,
        )
    return booking.id


async def released(database: Database, merchant_id: str, amount: int, *, reference: str = "OURS-1") -> str:
    """The id of a booking of which a merchant was credited all."""
    cause, now = await in_suspense(database, amount), clock.now()
    async with database.begin() as tx:
        booking = Booking(BookingKind.SUSPENSE_RELEASE, merchant_id, amount, reference, cause)
        await bookings.book_proposed(tx, ids.mint(bookings.ID_PREFIX, now), booking, now=now)
    return cause

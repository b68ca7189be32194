"""Which day is open for bookings. A closed day does not change, so nothing is booked into one.

A transaction that books into a day takes a shared lock until its commit; a transaction that closes a day takes it
exclusively. So a booking is either in the close of its day, or finds that day closed and counts in the next one.
"""

from datetime import date, timedelta

from malipo.db import Conn, Tx

_LOCK = "hashtextextended('daily close', 0)"
_LATEST = "SELECT max(day) FROM day_closes"


async def first_open_day(tx: Tx) -> date | None:
    """The day after the last closed one, which is not closed before this transaction ends. None if no day is closed."""
    await tx.execute(f"SELECT pg_advisory_xact_lock_shared({_LOCK})")
    latest: date | None = await tx.fetchval(_LATEST)
    return None if latest is None else latest + timedelta(days=1)


async def lock_for_close(tx: Tx) -> date | None:
    """Lock the days until the commit against other closes and bookings. Returns the last closed day."""
    await tx.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
    return await last_closed_day(tx)


async def last_closed_day(connection: Conn) -> date | None:
    latest: date | None = await connection.fetchval(_LATEST)
    return latest

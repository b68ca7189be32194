"""Which day is open. A closed day does not change, so nothing is booked into one.

Whoever books into a day holds a lock that they share until their commit; whoever closes a day holds it alone. So a
booking is in the close of its day, or finds that day closed and takes the next one.
"""

from datetime import date, timedelta

from malipo.db import Conn, Tx

_LOCK = "hashtextextended('daily close', 0)"
_LATEST = "SELECT max(day) FROM day_closes"


async def first_open_day(tx: Tx) -> date | None:
    """The day after the last closed one. It is not closed before this transaction ends. None: no day is closed."""
    await tx.execute(f"SELECT pg_advisory_xact_lock_shared({_LOCK})")
    latest: date | None = await tx.fetchval(_LATEST)
    return None if latest is None else latest + timedelta(days=1)


async def lock_for_close(tx: Tx) -> date | None:
    """The last closed day. Until the commit nobody else closes one, or books into one."""
    await tx.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
    return await last_closed_day(tx)


async def last_closed_day(connection: Conn) -> date | None:
    latest: date | None = await connection.fetchval(_LATEST)
    return latest

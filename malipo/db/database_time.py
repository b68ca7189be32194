"""The database's own time, for what an operator does at a command line.

A command's clock is that of its process, which whoever gives the command can set (`faketime`). What counts within 24
or 72 hours, or ten minutes, is told by a clock that they cannot set.
"""

from datetime import datetime

from malipo.db.transaction import Conn


async def database_now(connection: Conn) -> datetime:
    """In UTC and whole milliseconds, as `clock.now` has it."""
    now: datetime = await connection.fetchval("SELECT date_trunc('milliseconds', clock_timestamp())")
    return now

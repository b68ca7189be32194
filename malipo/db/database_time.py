"""The database's own time, for what an operator does at a command line.

The user of a command can set the clock of its process (`faketime`). So limits of 24 or 72 hours, or ten minutes, use
the database's clock.
"""

from datetime import datetime

from malipo.db.transaction import Conn


async def database_now(connection: Conn) -> datetime:
    """The database's time in UTC and whole milliseconds, like `clock.now`."""
    now: datetime = await connection.fetchval("SELECT date_trunc('milliseconds', clock_timestamp())")
    return now

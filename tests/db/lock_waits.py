"""Who waits for a lock, as PostgreSQL itself says: a test lets the others go when those that it races wait, and never
after a time."""

from malipo.db import Conn, Database


async def count_waiting(connection: Conn, *, of: str = "", but_not_of: str = "") -> int:
    """How many connections to this database wait for a lock, in a statement with this text, or without it.

    Within one transaction PostgreSQL answers from what it saw first: ask on a connection that has none.
    """
    number: int = await connection.fetchval(
        """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND backend_type = 'client backend'
          AND strpos(query, $1) > 0 AND ($2 = '' OR strpos(query, $2) = 0)
        """,
        of,
        but_not_of,
    )
    return number


async def are_waiting(database: Database, number: int = 1, *, of: str = "", but_not_of: str = "") -> bool:
    """Whether so many connections, or more, wait for a lock."""
    async with database.read() as connection:
        return await count_waiting(connection, of=of, but_not_of=but_not_of) >= number

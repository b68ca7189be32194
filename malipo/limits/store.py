"""The windows' SQL. Windows are locked in one order, and time is the database's, so that a fleet agrees on it."""

from collections.abc import Collection, Mapping

from malipo.db import Tx
from malipo.limits.window import RateClass, Window

Place = tuple[str, RateClass]  # a key's id and the class of its request


async def lock(tx: Tx, places: Collection[Place]) -> tuple[int, dict[Place, Window]]:
    """The time in milliseconds, read after the last lock was granted, and the windows, held until the commit."""
    ordered = sorted(places)
    rows = await tx.fetch(
        """
        WITH held AS MATERIALIZED (
            SELECT key_id, class, times, counts FROM rate_windows
            WHERE (key_id, class) IN (SELECT * FROM unnest($1::text[], $2::text[]))
            ORDER BY key_id, class FOR UPDATE
        )
        SELECT *, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms FROM held
        """,
        [key_id for key_id, _ in ordered],
        [rate_class for _, rate_class in ordered],
    )
    windows = {
        (row["key_id"], RateClass(row["class"])): Window(tuple(row["times"]), tuple(row["counts"])) for row in rows
    }
    return max((row["now_ms"] for row in rows), default=0), windows


async def save(tx: Tx, windows: Mapping[Place, Window]) -> None:
    # asyncpg has no arrays of unequal arrays, so each window travels as text.
    await tx.execute(
        """
        UPDATE rate_windows SET times = new.times::bigint[], counts = new.counts::integer[]
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS new (key_id, class, times, counts)
        WHERE rate_windows.key_id = new.key_id AND rate_windows.class = new.class
        """,
        [key_id for key_id, _ in windows],
        [rate_class for _, rate_class in windows],
        ["{" + ",".join(map(str, window.times)) + "}" for window in windows.values()],
        ["{" + ",".join(map(str, window.counts)) + "}" for window in windows.values()],
    )


async def open_windows(tx: Tx, key_id: str) -> None:
    """A new key's windows, one for each class, so that there is always a row to lock."""
    await tx.executemany(
        "INSERT INTO rate_windows (key_id, class) VALUES ($1, $2)",
        [(key_id, rate_class) for rate_class in RateClass],
    )

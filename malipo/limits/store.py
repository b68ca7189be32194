"""The windows' SQL. Windows are locked in one order, and time is the database's, so that a fleet agrees on it."""

from collections.abc import Collection, Mapping

from malipo.db import Tx
from malipo.limits.window import RateClass, Window

_CLASSES = {each.value: each for each in RateClass}  # quicker than asking the enumeration

Place = tuple[str, RateClass]  # a key's id and the class of its request


async def lock(tx: Tx, places: Collection[Place]) -> tuple[int, dict[Place, Window]]:
    """The time in milliseconds, read after the last lock was granted, and the windows, held until the commit.

    That commit need not be on disk before anybody is answered.
    """
    ordered = sorted(places)
    rows = await tx.fetch(
        """
        WITH held AS MATERIALIZED (
            SELECT key_id, class, admitted FROM rate_windows
            WHERE (key_id, class) IN (SELECT * FROM unnest($1::text[], $2::text[]))
            ORDER BY key_id, class FOR UPDATE
        )
        SELECT key_id, class, admitted, (extract(epoch FROM clock_timestamp()) * 1000)::bigint
        FROM held, set_config('synchronous_commit', 'off', true)
        """,
        [key_id for key_id, _ in ordered],
        [rate_class for _, rate_class in ordered],
    )
    windows = {(row[0], _CLASSES[row[1]]): Window.unpacked(row[2]) for row in rows}
    return max((row[3] for row in rows), default=0), windows


async def save(tx: Tx, windows: Mapping[Place, Window]) -> None:
    await tx.execute(
        """
        UPDATE rate_windows SET admitted = new.admitted
        FROM unnest($1::text[], $2::text[], $3::bytea[]) AS new (key_id, class, admitted)
        WHERE rate_windows.key_id = new.key_id AND rate_windows.class = new.class
        """,
        [key_id for key_id, _ in windows],
        [rate_class for _, rate_class in windows],
        [window.packed() for window in windows.values()],
    )


async def open_windows(tx: Tx, key_id: str) -> None:
    """A new key's windows, one for each class, so that there is always a row to lock."""
    await tx.executemany(
        "INSERT INTO rate_windows (key_id, class) VALUES ($1, $2)",
        [(key_id, rate_class) for rate_class in RateClass],
    )

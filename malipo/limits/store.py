"""The windows' SQL. Nobody holds a window while they think: whoever writes says which version they have read, and is
told if somebody else was quicker. They are read together with their keys (`merchants/store/keys.py`).
"""

from collections.abc import Mapping

from malipo.db import Conn, Tx
from malipo.limits.window import RateClass, Window

Place = tuple[str, RateClass]  # a key's id and the class of its request
Version = int  # of a row: the transaction that wrote it, which PostgreSQL keeps with every row as xmin


async def save(connection: Conn, windows: Mapping[Place, tuple[Version, Window]]) -> set[Place]:
    """Write the windows that are still as they were read; those that are not. Nobody waits for a disk because of it.

    They are locked in one order, so that no two processes wait for each other.
    """
    ordered = sorted(windows)
    lost = await connection.fetch(
        """
        WITH new AS MATERIALIZED (
            SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[])
                AS new (key_id, class, version, admitted)
        ), held AS MATERIALIZED (
            SELECT w.key_id, w.class, new.admitted FROM rate_windows w JOIN new USING (key_id, class)
            WHERE w.xmin::text::bigint = new.version
            ORDER BY w.key_id, w.class FOR UPDATE OF w
        ), saved AS (
            UPDATE rate_windows w SET admitted = held.admitted
            FROM held, set_config('synchronous_commit', 'off', true)
            WHERE w.key_id = held.key_id AND w.class = held.class
        )
        SELECT key_id, class FROM new EXCEPT SELECT key_id, class FROM held
        """,
        [key_id for key_id, _ in ordered],
        [rate_class for _, rate_class in ordered],
        [windows[place][0] for place in ordered],
        [windows[place][1].packed() for place in ordered],
    )
    return {(row[0], RateClass(row[1])) for row in lost}


async def open_windows(tx: Tx, key_id: str) -> None:
    """A new key's windows, one for each class, so that there is always a row to lock."""
    await tx.executemany(
        "INSERT INTO rate_windows (key_id, class) VALUES ($1, $2)",
        [(key_id, rate_class) for rate_class in RateClass],
    )

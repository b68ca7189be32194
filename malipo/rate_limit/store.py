"""SQL of rate-limit windows, with optimistic locking: a window is written if it is still the version that was read.

They are read together with their API keys (`merchants/store/api_keys.py`).
"""

from collections.abc import Mapping

from malipo.db import Conn, Tx
from malipo.rate_limit.sliding_window import RateClass, Window

Version = int  # of a row: the transaction that wrote it, which PostgreSQL keeps with every row as xmin


async def save(connection: Conn, rate_class: RateClass, windows: Mapping[str, tuple[Version, Window]]) -> set[str]:
    """Write the windows that are still as they were read; the keys of the others. The commit waits for no disk.

    Rows are locked in one order, so that no two processes wait for each other.
    """
    lost = await connection.fetch(
        """
        WITH new AS MATERIALIZED (
            SELECT * FROM unnest($2::text[], $3::bigint[], $4::bytea[]) AS new (key_id, version, requests)
        ), held AS MATERIALIZED (
            SELECT w.key_id, new.requests FROM rate_limit_windows w JOIN new USING (key_id)
            WHERE w.rate_class = $1 AND w.xmin::text::bigint = new.version
            ORDER BY w.key_id FOR UPDATE OF w
        ), saved AS (
            UPDATE rate_limit_windows w SET requests = held.requests
            FROM held, set_config('synchronous_commit', 'off', true)
            WHERE w.key_id = held.key_id AND w.rate_class = $1
        )
        SELECT key_id FROM new EXCEPT SELECT key_id FROM held
        """,
        rate_class,
        list(windows),
        [version for version, _ in windows.values()],
        [window.packed() for _, window in windows.values()],
    )
    return {row[0] for row in lost}


async def open_windows(tx: Tx, key_id: str) -> None:
    """A new key's windows, one for each class, so that there is always a row to lock."""
    await tx.executemany(
        "INSERT INTO rate_limit_windows (key_id, rate_class) VALUES ($1, $2)",
        [(key_id, rate_class) for rate_class in RateClass],
    )

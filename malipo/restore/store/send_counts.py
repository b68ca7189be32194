"""The SQL of worker_send_counts: for each worker its sent batches, its looks, and the server that it last looked at."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from malipo.db import Conn, Tx
from malipo.db.schema import SERVES
from malipo.restore.high_water_mark import SendCount
from malipo.restore.mark_comparison import DatabaseState, Worker
from malipo.restore.worker_reports import REMEMBERED, RUNNING, WorkerReport

# The id of the server and database. A restart, a fail-over and a restore each change it.
_SERVER_ID = """
    (SELECT floor(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint || '-' || oid
     FROM pg_database WHERE datname = current_database())
"""
# Stands after the server's id in the row of a worker that has compared the server, and waits for the others.
_WAITS = " waits"
# A condition: whether the workers have compared this server with their marks. One worker has, and has waited for those
# that ran beside it. Before that, an apparently unsent payment may have been sent and paid, and the next number of a
# feed may be another event's. So nothing is sent, lapses, is cancelled or gets a number. A database that no worker has
# ever seen has sent nothing.
IS_COMPARED = f"""
    (NOT EXISTS (SELECT FROM worker_send_counts)
     OR EXISTS (SELECT FROM worker_send_counts WHERE server_id = {_SERVER_ID}))
"""
# A younger database that no worker has seen is new: payments in it may wait for the first worker.
_NEW = timedelta(days=1)
# A worker looks once a second. A worker without a look for this long hangs, or is cut off.
_AT_WORK = timedelta(seconds=3)
# After so many looks of a worker, its mark certainly has one of them. A worker counts looks in two loops, each of which
# flushes its count to the mark before it counts again: of three counts, two are of one loop.
_LOOKS_UNTIL_MARKED = 3


async def find_database_state(connection: Conn) -> DatabaseState:
    rows = await connection.fetch(
        f"""
        SELECT pg_is_in_recovery(), {_SERVER_ID}, epoch, EXISTS (SELECT FROM transactions),
               epoch = 1 AND epoch_began_at > now() - interval '{_NEW.total_seconds():.0f} seconds',
               worker_id, batch_count, nullif(seen_at, '-infinity'), server_id, look_count,
               seen_at > now() - $1::interval, coalesce(routes, '{{}}')
        FROM installation LEFT JOIN worker_send_counts ON true
        """,
        _AT_WORK,
    )
    is_standby, server_id, epoch, has_payments, is_new, *_ = rows[0].values()
    workers = {
        worker_id: Worker(
            batches,
            seen_at,
            compared.removesuffix(_WAITS),
            looks,
            is_at_work=is_live and compared == server_id,
            routes=frozenset(routes),
        )
        for *_, worker_id, batches, seen_at, compared, looks, is_live, routes in (each.values() for each in rows)
        if worker_id is not None
    }
    return DatabaseState(is_standby, server_id, epoch, has_payments, is_new and not workers, workers)


async def note_running(
    connection: Conn,
    worker_id: str,
    host: str,
    routes: Sequence[str] | None = None,
    *,
    server_id: str,
    is_waiting: bool,
) -> int | None:
    """Note that a worker has compared this server, whether it waits for other workers, and the routes that it carries
    (None if it does not report them). Returns the number of its looks; None if this is another server, which it has not
    compared."""
    looks: int | None = await connection.fetchval(
        f"""
        INSERT INTO worker_send_counts AS w (worker_id, host, server_id, look_count, routes, routes_at)
        SELECT $1, $2, $4, 1, $5::text[], CASE WHEN $5::text[] IS NOT NULL THEN now() END WHERE {_SERVER_ID} = $3
        ON CONFLICT (worker_id) DO UPDATE
        SET seen_at = now(), host = excluded.host, server_id = excluded.server_id, look_count = w.look_count + 1,
            routes = excluded.routes, routes_at = excluded.routes_at
        RETURNING look_count
        """,
        worker_id,
        host,
        server_id,
        server_id + _WAITS if is_waiting else server_id,
        None if routes is None else list(routes),
    )
    return looks


async def find_reports(connection: Conn) -> list[WorkerReport]:
    """The routes that workers report to carry, also workers that have ended recently."""
    rows = await connection.fetch(
        """
        SELECT routes, routes_at > now() - $1::interval AND seen_at > '-infinity' FROM worker_send_counts
        WHERE routes_at > now() - $2::interval
        """,
        RUNNING,
        REMEMBERED,
    )
    return [WorkerReport(frozenset(routes), is_running) for routes, is_running in (row.values() for row in rows)]


async def count_look(tx: Tx, worker_id: str) -> SendCount | None:
    """Count a look of a worker that has compared this database before. Returns the new counts; None if the database has
    no row of the worker."""
    row = await tx.fetchrow(
        """
        UPDATE worker_send_counts SET look_count = look_count + 1 WHERE worker_id = $1
        RETURNING (SELECT epoch FROM installation), look_count
        """,
        worker_id,
    )
    return None if row is None else SendCount(row[0], total=0, own=0, looks=row[1])


async def note_ended(tx: Tx, worker_id: str, *, comes_back: bool) -> None:
    """Note that a worker has ended. A worker without a mark never comes back under its id, so its count is added to the
    count of all workers that ended so."""
    if comes_back:
        await tx.execute("UPDATE worker_send_counts SET seen_at = '-infinity' WHERE worker_id = $1", worker_id)
        return
    await tx.execute(
        """
        WITH gone AS (DELETE FROM worker_send_counts WHERE worker_id = $1 RETURNING batch_count, server_id)
        INSERT INTO worker_send_counts (worker_id, host, batch_count, seen_at, server_id)
        SELECT 'wrk_ended', '', batch_count, '-infinity', server_id FROM gone
        ON CONFLICT (worker_id) DO UPDATE
        SET batch_count = worker_send_counts.batch_count + excluded.batch_count, server_id = excluded.server_id
        """,
        worker_id,
    )


class CountedBatch(NamedTuple):
    """The counts after the commit that claimed a batch, and the server that committed it."""

    counted: SendCount
    server_id: str
    serves: int  # the last migration of the oldest version that the schema served at the commit


def counting(worker_id: str) -> str:
    """A part of the statement that claims a batch of sends: counts the batch. The total may lack batches that other
    workers count at the same moment; the worker's own count is exact."""
    return f"""
        UPDATE worker_send_counts SET batch_count = batch_count + 1, seen_at = now() WHERE worker_id = {worker_id}
        RETURNING (SELECT epoch FROM installation) AS epoch,
                  (SELECT coalesce(sum(batch_count), 0) FROM worker_send_counts)::bigint + 1 AS total,
                  batch_count AS own, {_SERVER_ID} AS server_id, {SERVES} AS serves
    """


async def find_counted(connection: Conn, worker_id: str) -> CountedBatch | None:
    """The counts of a batch that an earlier try has stored."""
    state = await find_database_state(connection)
    counted = SendCount(state.epoch, state.total, state.batches_of(worker_id))
    serves: int = await connection.fetchval(f"SELECT {SERVES}")
    return CountedBatch(counted, state.server_id, serves) if worker_id in state.workers else None


async def hold_looks(tx: Tx) -> str:
    """The number of looks of each worker, as JSON, for `is_marked`. None is counted before this transaction ends."""
    found: str = await tx.fetchval(
        """
        SELECT coalesce(jsonb_object_agg(worker_id, look_count), '{}')::text
        FROM (SELECT worker_id, look_count FROM worker_send_counts ORDER BY worker_id FOR SHARE) w
        """
    )
    return found


async def is_marked(connection: Conn, looks: str) -> bool:
    """Whether the mark of a worker certainly has a look that was counted after these: then a restore to a moment before
    them is noticed. Where no worker ever ran, nothing is compared."""
    found: bool = await connection.fetchval(f"SELECT {is_marked_since('$1::jsonb')}", looks)
    return found


def is_marked_since(looks: str) -> str:
    """The condition of `is_marked`."""
    return f"""
        (NOT EXISTS (SELECT FROM worker_send_counts)
         OR EXISTS (SELECT FROM worker_send_counts
                    WHERE look_count >= coalesce(({looks} ->> worker_id)::bigint, 0) + {_LOOKS_UNTIL_MARKED}))
    """

"""The installation's SQL: its row, what operators hold, and how many batches of payments its workers have sent."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from malipo.db import Conn, Tx
from malipo.installation.high_water_mark import Counted
from malipo.installation.mark_comparison import Standing, Worker
from malipo.installation.state import WEEK_AFTER, Closed, Installation, NotComparedYet

_COLUMNS = "id, key_secret, epoch, epoch_began_at, fenced_at, fence_reason, held_at, held_by, hold_reason"

# Conditions for statements of other rooms, so that nobody else has to know what a fence is.
IS_CLOSED = "EXISTS (SELECT FROM installation WHERE fenced_at IS NOT NULL OR held_at IS NOT NULL)"
IS_FENCED = "EXISTS (SELECT FROM installation WHERE fenced_at IS NOT NULL)"
EPOCH_BEGAN_AT = "(SELECT epoch_began_at FROM installation)"
# Since when something new could have been sent before the restore; none if that is too long ago, or never was.
LOST_SINCE = f"""
    (SELECT epoch_began_at FROM installation
     WHERE epoch > 1 AND epoch_began_at > now() - interval '{WEEK_AFTER.total_seconds():.0f} seconds')
"""

# Which server and database this is: a restart, a fail-over and a restore all make it another.
_SERVER = """
    (SELECT floor(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint || '-' || oid
     FROM pg_database WHERE datname = current_database())
"""
# Whether a worker has compared this server with its mark. Before that, what the database calls unsent may have been
# sent and paid: nothing is sent, lapses or is cancelled. A database that no worker has ever seen has sent nothing.
IS_COMPARED = f"""
    (NOT EXISTS (SELECT FROM worker_send_counts)
     OR EXISTS (SELECT FROM worker_send_counts WHERE server_id = {_SERVER}))
"""
# So long payments may wait for the very first worker, without anybody having to fear that there was one before.
_NEW = timedelta(days=1)


class Hold(NamedTuple):
    channel: str
    type: str
    held_at: datetime
    held_by: str
    reason: str


def is_held(channel: str, type_: str) -> str:
    """Whether operators hold this, as a condition."""
    return f"EXISTS (SELECT FROM channel_holds h WHERE h.channel = {channel} AND h.type = {type_})"


def is_released(channel: str, type_: str) -> str:
    """Whether operators have released this since the restore, as a condition."""
    return f"""EXISTS (SELECT FROM channel_releases r JOIN installation i ON i.epoch = r.epoch
                       WHERE r.channel = {channel} AND r.type = {type_})"""


async def get(connection: Conn) -> Installation:
    row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM installation")
    assert row is not None, "the first migration makes it"
    return Installation(*row.values())


async def why_not_cancel(connection: Conn) -> Closed | None:
    """Why nothing can be taken back now: what this database calls unsent may have been sent."""
    standing = await get(connection)
    if standing.is_fenced:
        return standing.refusal
    is_compared = await connection.fetchval(f"SELECT {IS_COMPARED}")
    return None if is_compared else NotComparedYet()


async def lock(tx: Tx) -> Installation:
    row = await tx.fetchrow(f"SELECT {_COLUMNS} FROM installation FOR UPDATE")
    assert row is not None
    return Installation(*row.values())


async def begin_epoch(tx: Tx, reason: str, *, beyond: int = 0) -> int:
    """Fence it, from now on by the database's clock; the new epoch, which is later than any that a host has seen."""
    epoch = await tx.fetchval(
        """
        UPDATE installation
        SET epoch = greatest(epoch + 1, $2::bigint + 1, floor(extract(epoch FROM clock_timestamp()))::bigint),
            epoch_began_at = now(), fenced_at = now(), fence_reason = $1
        RETURNING epoch
        """,
        reason,
        beyond,
    )
    await tx.execute(
        """
        INSERT INTO feed_restore_points (merchant_id, epoch, last_number)
        SELECT m.id, $1, coalesce(f.last_number, 0) FROM merchants m LEFT JOIN feeds f ON f.merchant_id = m.id
        """,
        int(epoch),
    )
    return int(epoch)


async def end_fence(tx: Tx) -> None:
    await tx.execute("UPDATE installation SET fenced_at = NULL, fence_reason = NULL")


async def set_hold(tx: Tx, *, held_by: str, reason: str) -> None:
    await tx.execute(
        "UPDATE installation SET held_at = coalesce(held_at, now()), held_by = $1, hold_reason = $2", held_by, reason
    )


async def end_hold(tx: Tx) -> bool:
    done = await tx.execute(
        "UPDATE installation SET held_at = NULL, held_by = NULL, hold_reason = NULL WHERE held_at IS NOT NULL"
    )
    return done == "UPDATE 1"


async def add_channel_holds(tx: Tx, pairs: Sequence[tuple[str, str]], *, held_by: str, reason: str) -> None:
    for channel, type_ in pairs:
        await tx.execute(
            """
            INSERT INTO channel_holds (channel, type, held_at, held_by, reason) VALUES ($1, $2, now(), $3, $4)
            ON CONFLICT (channel, type) DO UPDATE SET held_by = excluded.held_by, reason = excluded.reason
            """,
            channel,
            type_,
            held_by,
            reason,
        )


async def end_channel_holds(tx: Tx, pairs: Sequence[tuple[str, str]]) -> int:
    rows = await tx.fetch(
        """
        DELETE FROM channel_holds WHERE (channel, type) IN (SELECT * FROM unnest($1::text[], $2::text[])) RETURNING 1
        """,
        [channel for channel, _ in pairs],
        [type_ for _, type_ in pairs],
    )
    return len(rows)


async def find_channel_holds(connection: Conn) -> list[Hold]:
    rows = await connection.fetch("SELECT channel, type, held_at, held_by, reason FROM channel_holds ORDER BY 1, 2")
    return [Hold(*row.values()) for row in rows]


async def find_restore_point(connection: Conn, merchant_id: str, *, after_epoch: int) -> int:
    """How far a cursor of this epoch may lie: where the feed ended at the earliest when a later epoch began."""
    last = await connection.fetchval(
        "SELECT min(last_number) FROM feed_restore_points WHERE merchant_id = $1 AND epoch > $2",
        merchant_id,
        after_epoch,
    )
    return int(last or 0)


async def stand(connection: Conn) -> Standing:
    row = await connection.fetchrow(
        f"""
        SELECT pg_is_in_recovery(), {_SERVER}, epoch, EXISTS (SELECT FROM transactions),
               epoch = 1 AND epoch_began_at > now() - interval '{_NEW.total_seconds():.0f} seconds'
        FROM installation
        """
    )
    assert row is not None
    is_standby, server_id, epoch, has_payments, is_new = row.values()
    rows = await connection.fetch(
        "SELECT worker_id, batch_count, nullif(seen_at, '-infinity'), server_id FROM worker_send_counts"
    )
    workers = {worker_id: Worker(*rest) for worker_id, *rest in (each.values() for each in rows)}
    return Standing(is_standby, server_id, epoch, has_payments, is_new and not workers, workers)


async def be_seen(tx: Tx, worker_id: str, host: str) -> None:
    await tx.execute(
        f"""
        INSERT INTO worker_send_counts (worker_id, host, server_id) VALUES ($1, $2, {_SERVER})
        ON CONFLICT (worker_id) DO UPDATE SET seen_at = now(), host = excluded.host, server_id = excluded.server_id
        """,
        worker_id,
        host,
    )


async def leave(tx: Tx, worker_id: str, *, comes_back: bool) -> None:
    """A worker that ends lives no more, whoever comes next. One without a mark never comes back under its name: what it
    has sent stays counted, with that of others like it."""
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
    """What was counted in the commit that claimed a batch, and where."""

    counted: Counted
    server_id: str


def counting(worker_id: str) -> str:
    """Counts a batch of sends, as a part of the statement that claims it. The total may miss what others count at the
    same moment; what a worker has sent itself is exact."""
    return f"""
        UPDATE worker_send_counts SET batch_count = batch_count + 1, seen_at = now() WHERE worker_id = {worker_id}
        RETURNING (SELECT epoch FROM installation) AS epoch,
                  (SELECT coalesce(sum(batch_count), 0) FROM worker_send_counts)::bigint + 1 AS total,
                  batch_count AS own, {_SERVER} AS server_id
    """


async def find_counted(connection: Conn, worker_id: str) -> CountedBatch | None:
    """The same of a batch that was counted before."""
    standing = await stand(connection)
    counted = Counted(standing.epoch, standing.total, standing.batches_of(worker_id))
    return CountedBatch(counted, standing.server_id) if worker_id in standing.workers else None


class Release(NamedTuple):
    id: str
    epoch: int
    channel: str | None
    type: str | None
    evidence: str
    requested_by: str
    requested_at: datetime


async def find_release(tx: Tx, epoch: int, channel: str | None, type_: str | None) -> Release | None:
    """What is proposed, and not approved yet."""
    row = await tx.fetchrow(
        """
        SELECT id, epoch, channel, type, evidence, requested_by, requested_at FROM restore_releases
        WHERE epoch = $1 AND channel IS NOT DISTINCT FROM $2 AND type IS NOT DISTINCT FROM $3 AND approved_at IS NULL
        FOR UPDATE
        """,
        epoch,
        channel,
        type_,
    )
    return None if row is None else Release(*row.values())


async def insert_release(tx: Tx, release: Release) -> None:
    await tx.execute(
        """
        INSERT INTO restore_releases (id, epoch, channel, type, evidence, requested_by, requested_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """,
        *release,
    )


async def approve_release(
    tx: Tx, release_id: str, *, approved_by: str, is_single_operator: bool, now: datetime
) -> None:
    await tx.execute(
        "UPDATE restore_releases SET approved_by = $2, is_single_operator = $3, approved_at = $4 WHERE id = $1",
        release_id,
        approved_by,
        is_single_operator,
        now,
    )


async def release_channel(tx: Tx, epoch: int, channel: str, type_: str) -> None:
    await tx.execute(
        "INSERT INTO channel_releases (epoch, channel, type) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        epoch,
        channel,
        type_,
    )


async def find_proposed_releases(connection: Conn, epoch: int) -> list[Release]:
    """All that is proposed in an epoch, and not approved yet."""
    rows = await connection.fetch(
        """
        SELECT id, epoch, channel, type, evidence, requested_by, requested_at FROM restore_releases
        WHERE epoch = $1 AND approved_at IS NULL
        """,
        epoch,
    )
    return [Release(*row.values()) for row in rows]


async def find_released_channels(connection: Conn, epoch: int) -> set[tuple[str, str]]:
    rows = await connection.fetch("SELECT channel, type FROM channel_releases WHERE epoch = $1", epoch)
    return {(row["channel"], row["type"]) for row in rows}

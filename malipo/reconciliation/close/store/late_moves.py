"""The SQL of late moves: those of a closed day that the snapshot of its close does not show, and that a later close
counts.

In `late_moves` stands the last day that was closed when they were found: the close of the day after it counts them.
That is mostly their own day.
"""

from datetime import date

from malipo import clock
from malipo.db import Conn, Tx
from malipo.ledger.accounts import HOUSE
from malipo.reconciliation.close.business_day import begin_of, end_of

_OF_MOVE = """
    (l.merchant_id, l.cause_id, l.step, l.ordinal, l.move_number)
    = (m.merchant_id, m.cause_id, m.step, m.ordinal, m.move_number)
"""
_IS_RECORDED = f"EXISTS (SELECT FROM late_moves l WHERE {_OF_MOVE})"
# The day on which the books count that a row `m` was moved.
COUNTED_ON = f"coalesce((SELECT l.day + 1 FROM late_moves l WHERE {_OF_MOVE}), {clock.day_sql('m.created_at')})"
_SUM = "SELECT concat_ws(' ', source || '>' || target, channel) AS route, sum(amount)::bigint AS amount"
_KEY = "merchant_id, cause_id, step, ordinal, move_number"


def is_recorded_sql(compared: str, day: date) -> str:
    """Whether a close of the day after this one (`=`), or of that or a later one (`>=`), has counted a row `m`."""
    return f"EXISTS (SELECT FROM late_moves l WHERE {_OF_MOVE} AND l.day {compared} '{day:%Y-%m-%d}')"


def is_unseen_sql(day: date) -> str:
    """Whether the close of that day did not see a row `m`.

    A row has the lower half of its transaction's id. The upper half is that of the snapshot, or the one beside it:
    two ids of one database that are compared are never 2^31 transactions apart.
    """
    return f"""
        NOT coalesce((
            SELECT m.xmin::text::bigint < 3 OR x.id < 3 OR pg_visible_in_snapshot(x.id::text::xid8, s.snapshot)
            FROM (SELECT snapshot, pg_snapshot_xmax(snapshot)::text::bigint AS ends FROM day_close_snapshots
                  WHERE day = '{day:%Y-%m-%d}') s
            CROSS JOIN LATERAL (
                SELECT s.ends - {2**31}
                       + (m.xmin::text::bigint - s.ends % {2**32} + {2**32 + 2**31}) % {2**32} AS id
            ) x), true)
    """


def is_unseen_of_day_sql(day: date) -> str:
    """Whether a row `m` is of that day, and its close did not see it."""
    return f"({_is_of_day_sql(day)} AND {is_unseen_sql(day)})"


def is_pending_sql(day: date, *, by: date) -> str:
    """Whether a row `m` is of that day, no close has counted it, and the last close, `by`, did not see it."""
    return f"({_is_of_day_sql(day)} AND NOT {_IS_RECORDED} AND {is_unseen_sql(by)})"


def _is_of_day_sql(day: date) -> str:
    return f"m.created_at >= '{begin_of(day).isoformat()}' AND m.created_at < '{end_of(day).isoformat()}'"


def _of_day(day: date) -> tuple[str, list[object]]:
    condition = f"created_at >= $1 AND created_at < $2 AND merchant_id <> '{HOUSE}'"
    return condition, [begin_of(day), end_of(day)]


async def keep_snapshot(tx: Tx, day: date) -> None:
    """Keep the snapshot with which this transaction has read the moves of the day (`entries.add_moves`)."""
    await tx.execute(
        """
        INSERT INTO day_close_snapshots SELECT $1, snapshot FROM close_snapshot
        ON CONFLICT (day) DO UPDATE SET snapshot = excluded.snapshot
        """,
        day,
    )


async def sum_unseen(connection: Conn, day: date) -> dict[str, int]:
    condition, values = _of_day(day)
    return await _sums(connection, f"{_SUM} FROM moves m WHERE {condition} AND {is_unseen_sql(day)} GROUP BY 1", values)


async def sum_recorded(connection: Conn, day: date) -> dict[str, int]:
    """Of the late moves that the close of the day after this one has counted."""
    return await _sums(
        connection,
        f"""
        {_SUM} FROM late_moves JOIN moves USING ({_KEY})
        WHERE day = $1 GROUP BY 1
        """,
        [day],
    )


async def sum_unrecorded(connection: Conn, first: date, last: date) -> dict[date, dict[str, int]]:
    """The moves of each of these days that are not recorded as late, as they are stored now."""
    rows = await connection.fetch(
        f"""
        SELECT {clock.day_sql("created_at")} AS day, concat_ws(' ', source || '>' || target, channel) AS route,
               sum(amount)::bigint AS amount
        FROM moves m WHERE created_at >= $1 AND created_at < $2 AND merchant_id <> '{HOUSE}' AND NOT {_IS_RECORDED}
        GROUP BY 1, 2
        """,
        begin_of(first),
        end_of(last),
    )
    found: dict[date, dict[str, int]] = {}
    for row in rows:
        found.setdefault(row["day"], {})[row["route"]] = row["amount"]
    return found


async def sum_of_older_day(connection: Conn, day: date, *, by: date) -> tuple[dict[str, int], dict[str, int]]:
    """The moves of a day that are not recorded as late, and those of them that the last close, `by`, did not see. One
    statement: both are of one moment."""
    rows = await connection.fetch(
        f"""
        SELECT concat_ws(' ', source || '>' || target, channel) AS route, sum(amount)::bigint AS amount,
               (sum(amount) FILTER (WHERE {is_unseen_sql(by)}))::bigint AS unseen
        FROM moves m WHERE created_at >= $1 AND created_at < $2 AND merchant_id <> '{HOUSE}' AND NOT {_IS_RECORDED}
        GROUP BY 1
        """,
        begin_of(day),
        end_of(day),
    )
    return (
        {row["route"]: row["amount"] for row in rows},
        {row["route"]: row["unseen"] for row in rows if row["unseen"]},
    )


async def sum_recorded_of(connection: Conn, day: date, *, counted_after: date) -> dict[str, int]:
    """The moves of a day that a later close than the one after `counted_after` has counted."""
    return await _sums(
        connection,
        f"""
        {_SUM} FROM late_moves l JOIN moves USING ({_KEY})
        WHERE created_at >= $1 AND created_at < $2 AND l.day > $3 GROUP BY 1
        """,
        [begin_of(day), end_of(day), counted_after],
    )


async def sum_older_recorded(connection: Conn, day: date) -> dict[str, int]:
    """The moves of days before this one that the close of the day after it has counted."""
    return await _sums(
        connection,
        f"{_SUM} FROM late_moves l JOIN moves USING ({_KEY}) WHERE l.day = $1 AND created_at < $2 GROUP BY 1",
        [day, begin_of(day)],
    )


async def find_first_recorded(connection: Conn, day: date, counted_since: date) -> date | None:
    """The day of the oldest move, up to this day, that the close of the day after `counted_since`, or a later one, has
    counted."""
    found: date | None = await connection.fetchval(
        f"""
        SELECT {clock.day_sql("min(created_at)")} FROM late_moves l JOIN moves USING ({_KEY})
        WHERE l.day >= $1 AND created_at < $2
        """,
        counted_since,
        end_of(day),
    )
    return found


async def record(tx: Tx, day: date, is_pending: str) -> None:
    """Record what the close of this day did not see, and older moves on which the condition is true."""
    condition, values = _of_day(day)
    await tx.execute(
        f"""
        INSERT INTO late_moves SELECT $3::date, {_KEY} FROM moves m WHERE {condition} AND {is_unseen_sql(day)}
        UNION ALL
        SELECT $3::date, {_KEY} FROM moves m WHERE created_at < $1 AND merchant_id <> '{HOUSE}' AND ({is_pending})
        """,
        *values,
        day,
    )


async def _sums(connection: Conn, query: str, values: list[object]) -> dict[str, int]:
    return {row["route"]: row["amount"] for row in await connection.fetch(query, *values)}

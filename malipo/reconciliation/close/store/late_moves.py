"""The SQL of late moves: those of a closed day that the snapshot of its close does not show."""

from datetime import date

from malipo.db import Conn, Tx
from malipo.ledger.accounts import HOUSE
from malipo.reconciliation.close.business_day import begin_of, end_of

IS_RECORDED = """
    EXISTS (SELECT FROM late_moves l
            WHERE (l.merchant_id, l.cause_id, l.step, l.ordinal, l.move_number)
                  = (m.merchant_id, m.cause_id, m.step, m.ordinal, m.move_number))
"""
_SUM = "SELECT concat_ws(' ', source || '>' || target, channel) AS route, sum(amount)::bigint AS amount"


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
    return await _sums(
        connection,
        f"""
        {_SUM} FROM late_moves JOIN moves USING (merchant_id, cause_id, step, ordinal, move_number)
        WHERE day = $1 GROUP BY 1
        """,
        [day],
    )


async def record_unseen(tx: Tx, day: date) -> None:
    condition, values = _of_day(day)
    await tx.execute(
        f"""
        INSERT INTO late_moves SELECT $3, merchant_id, cause_id, step, ordinal, move_number FROM moves m
        WHERE {condition} AND {is_unseen_sql(day)}
        """,
        *values,
        day,
    )


async def _sums(connection: Conn, query: str, values: list[object]) -> dict[str, int]:
    return {row["route"]: row["amount"] for row in await connection.fetch(query, *values)}

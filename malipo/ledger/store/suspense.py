"""The SQL of suspense: which causes have money there, and since when."""

from malipo.db import Conn, Row, Tx

_CHANGE = "CASE 'suspense' WHEN target THEN amount ELSE -amount END"
_RELEASED = "CASE kind WHEN 'suspense_release' THEN amount ELSE -amount END"  # of a release, or of what is taken back
# Each cause with its amounts. A booking and the one that undoes it are one cause; so are a booking and its releases.
_MOVED = f"""
    SELECT merchant_id, cause_id AS cause, {_CHANGE} AS amount, created_at AS at FROM moves
    WHERE step IN ('contradiction', 'resolution') AND 'suspense' IN (source, target)
    UNION ALL
    SELECT m.merchant_id, m.cause_id, CASE 'suspense' WHEN m.target THEN m.amount ELSE -m.amount END, m.created_at
    FROM settlements s JOIN moves m ON m.merchant_id = s.merchant_id AND m.cause_id = s.id
    WHERE s.is_adopted AND m.step = 'return' AND 'suspense' IN (m.source, m.target)
    UNION ALL
    SELECT '', coalesce(reverses, id), {_CHANGE}, booked_at FROM house_bookings WHERE 'suspense' IN (source, target)
    UNION ALL
    SELECT '', releases, -{_RELEASED}, created_at FROM bookings WHERE releases IS NOT NULL
"""


async def lock(tx: Tx, booking_id: str) -> None:
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", f"suspense {booking_id}")


async def find_left(tx: Tx, booking_id: str) -> int | None:
    """What a house booking has left in suspense; None if it put nothing there, or is none."""
    left: int | None = await tx.fetchval(
        f"""
        SELECT sum(amount)::bigint FROM (
            SELECT {_CHANGE} AS amount FROM house_bookings
            WHERE $1 IN (id, reverses) AND 'suspense' IN (source, target)
            UNION ALL
            SELECT -{_RELEASED} FROM bookings WHERE releases = $1
        ) AS moved
        """,
        booking_id,
    )
    return left


async def find_released(tx: Tx, booking_id: str, *, merchant_id: str | None = None) -> int:
    """What merchants, or one of them, have of a house booking by now."""
    sql = f"""
        SELECT coalesce(sum({_RELEASED}), 0)::bigint FROM bookings
        WHERE releases = $1 AND ($2::text IS NULL OR merchant_id = $2)
    """
    return int(await tx.fetchval(sql, booking_id, merchant_id))


async def find_released_to(connection: Conn, *, limit: int) -> list[Row]:
    """What each merchant has of each house booking by now, the latest credited first."""
    return list(
        await connection.fetch(
            f"""
            SELECT releases AS cause, merchant_id, sum({_RELEASED})::bigint AS amount, max(created_at) AS credited_at
            FROM bookings WHERE releases IS NOT NULL
            GROUP BY 1, 2 HAVING sum({_RELEASED}) > 0 ORDER BY credited_at DESC, 1, 2 LIMIT $1
            """,
            limit,
        )
    )


async def find_open(connection: Conn) -> list[Row]:
    """The causes that have money in suspense, or that lack some, the oldest first."""
    return list(
        await connection.fetch(
            f"""
            SELECT c.cause, c.amount, c.since, c.merchant_id,
                   CASE WHEN t.id IS NOT NULL THEN 'payment' WHEN s.id IS NOT NULL THEN 'settlement'
                        ELSE coalesce(h.kind, '') END AS kind,
                   coalesce(t.channel, h.channel, '') AS channel, coalesce(h.account, '') AS account,
                   coalesce(t.reference, s.reference, nullif(h.reference, ''), '') AS reference,
                   coalesce(t.provider_reference, l.receipt, '') AS receipt, coalesce(h.evidence, '') AS evidence
            FROM (SELECT merchant_id, cause, sum(amount)::bigint AS amount, min(at) AS since FROM ({_MOVED}) AS moved
                  GROUP BY 1, 2 HAVING sum(amount) <> 0) c
            LEFT JOIN transactions t ON t.merchant_id = c.merchant_id AND t.id = c.cause
            LEFT JOIN settlements s ON s.merchant_id = c.merchant_id AND s.id = c.cause
            LEFT JOIN house_bookings h ON h.id = c.cause AND c.merchant_id = ''
            LEFT JOIN statement_lines l ON l.id = h.line_id
            ORDER BY c.since, c.cause
            """
        )
    )

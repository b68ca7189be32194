"""The SQL of the books: balances at the beginning of a day, and the moves of a day, one after the other."""

from collections.abc import AsyncIterator
from datetime import date, datetime

from malipo import clock
from malipo.books.chart import OF_MERCHANTS
from malipo.db import Conn, Row
from malipo.ledger.accounts import HOUSE
from malipo.reconciliation.close.business_day import begin_of, end_of
from malipo.reconciliation.close.late_moves import LateMoves

_AT_ONCE = 2000  # rows that are in memory


async def find_balances_now(connection: Conn) -> list[Row]:
    """The balance of each account, as the ledger signs it."""
    return await _balances(connection, "true", "true")


async def find_balances_before(connection: Conn, day: date, late: LateMoves) -> list[Row]:
    """The balances at the beginning of a day. `late` is what counts after the day before."""
    counted = f"created_at < $2 AND NOT (created_at >= $3 AND {late.is_later})"
    return await _balances(connection, counted, "value_date < $4", begin_of(day), begin_of(late.since), day)


async def _balances(connection: Conn, of_merchants: str, of_house: str, *values: object) -> list[Row]:
    return list(
        await connection.fetch(
            f"""
            SELECT account, CASE WHEN account = 'float' THEN coalesce(channel, '') WHEN account = ANY($1)
                                 THEN merchant_id ELSE '' END AS of, sum(change)::bigint AS balance
            FROM (
                SELECT merchant_id, source, target, channel, sum(amount) AS amount FROM moves m
                WHERE merchant_id <> '{HOUSE}' AND {of_merchants} GROUP BY 1, 2, 3, 4
                UNION ALL
                SELECT '', source, target, CASE WHEN 'float' IN (source, target) THEN channel END, sum(amount)
                FROM house_bookings WHERE {of_house} GROUP BY 1, 2, 3, 4
            ) AS routes
            CROSS JOIN LATERAL (VALUES (target, amount), (source, -amount)) AS ends (account, change)
            GROUP BY 1, 2 HAVING sum(change) <> 0 ORDER BY 1, 2
            """,
            OF_MERCHANTS,
            *values,
        )
    )


async def moves_of(
    connection: Conn, day: date, late: LateMoves, late_before: LateMoves, *, until: datetime
) -> AsyncIterator[Row]:
    """The moves of merchants that the books count in this day, with what they are about: the late ones of the days
    before, then those of the day but for its late ones. A payment that ended after `until` has no receipt
    then, and one that was adopted after it is not adopted."""
    cursor = connection.cursor(
        f"""
        SELECT m.is_late, {clock.day_sql("m.created_at")} AS own_day,
               m.created_at, m.merchant_id, m.cause_id, m.step, m.ordinal, m.source, m.target, m.channel, m.amount,
               coalesce(t.reference, s.reference, b.bank_reference, '') AS reference,
               CASE WHEN t.ended_at < $4 THEN coalesce(t.provider_reference, '') ELSE '' END AS receipt,
               coalesce(t.refund_of, '') AS refund_of,
               a.transaction_id IS NOT NULL OR coalesce(s.is_adopted AND m.step = 'end', false) AS is_adopted,
               coalesce(r.evidence, n.answer, b.releases, '') AS evidence
        FROM (
            SELECT *, true AS is_late FROM moves m
            WHERE created_at >= $1 AND created_at < $2 AND merchant_id <> '{HOUSE}' AND ({late_before.is_late})
            UNION ALL
            SELECT *, false FROM moves m
            WHERE created_at >= $2 AND created_at < $3 AND merchant_id <> '{HOUSE}' AND NOT ({late.is_later})
        ) AS m
        LEFT JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.cause_id
        LEFT JOIN settlements s ON s.merchant_id = m.merchant_id AND s.id = m.cause_id
        LEFT JOIN bookings b ON b.id = m.cause_id
        LEFT JOIN adopted_payments a ON a.merchant_id = m.merchant_id AND a.transaction_id = m.cause_id
            AND a.adopted_at < $4
        LEFT JOIN LATERAL (
            SELECT evidence FROM resolutions r
            WHERE m.step IN ('contradiction', 'resolution') AND r.merchant_id = m.merchant_id
              AND r.transaction_id = m.cause_id AND r.is_approved AND r.decided_at = m.created_at
            ORDER BY r.id LIMIT 1
        ) AS r ON true
        LEFT JOIN LATERAL (
            SELECT concat_ws(' ', connector, source, verdict, nullif(code, ''), nullif(detail, '')) AS answer
            FROM network_answers n
            WHERE m.step = 'contradiction' AND n.merchant_id = m.merchant_id AND n.transaction_id = m.cause_id
              AND n.received_at = m.created_at
            ORDER BY n.id DESC LIMIT 1
        ) AS n ON true
        ORDER BY m.is_late DESC, m.created_at, m.merchant_id, m.cause_id, m.step <> 'open', m.step, m.ordinal,
                 m.move_number
        """,
        begin_of(late_before.since),
        begin_of(day),
        end_of(day),
        until,
        prefetch=_AT_ONCE,
    )
    async for row in cursor:
        yield row


async def house_bookings_of(connection: Conn, day: date) -> AsyncIterator[Row]:
    """The bookings of the house that count in this day. Of a line, with the network's receipt, or the bank's own
    reference."""
    cursor = connection.cursor(
        """
        SELECT h.id, h.kind, h.source, h.target, h.amount, h.evidence,
               CASE WHEN 'float' IN (h.source, h.target) THEN h.channel END AS channel,
               coalesce(nullif(b.reference, ''), h.reference) AS reference, coalesce(l.receipt, '') AS receipt
        FROM house_bookings h LEFT JOIN house_bookings o ON o.id = h.reverses
        LEFT JOIN statement_lines l ON l.id = coalesce(h.line_id, o.line_id)
        LEFT JOIN bank_lines b ON b.id = CASE WHEN coalesce(o.kind, h.kind) = 'bank_line'
                                              THEN coalesce(o.reference, h.reference)::bigint END
        WHERE h.value_date = $1 ORDER BY h.id
        """,
        day,
        prefetch=_AT_ONCE,
    )
    async for row in cursor:
        yield row


async def allow_slow_readers(connection: Conn) -> None:
    """A journal may be read slowly, as by a pager. (Sessions that stand still in a transaction are ended otherwise.)"""
    await connection.execute("SET LOCAL idle_in_transaction_session_timeout = '10min'")


async def find_names(connection: Conn) -> dict[str, str]:
    """The names of merchants, by their ids."""
    rows = await connection.fetch("SELECT id, name FROM merchants")
    return {row["id"]: row["name"] for row in rows}


async def find_suspense(connection: Conn) -> int:
    """The balance of the account, by its moves alone."""
    return int(
        await connection.fetchval(
            """
            SELECT coalesce(sum(CASE 'suspense' WHEN target THEN amount ELSE -amount END), 0)::bigint FROM moves
            WHERE 'suspense' IN (source, target)
            """
        )
    )

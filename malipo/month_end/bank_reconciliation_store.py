"""The SQL of the bank's lines and of the ledger's movements of the bank, up to the end of a month."""

from datetime import date

from malipo import clock
from malipo.bank.store.lines import LINE_COUNTS
from malipo.bank_evidence.which_count import COUNTS
from malipo.db import Conn, Row
from malipo.ledger import house_bookings
from malipo.ledger.accounts import HOUSE
from malipo.month_end.month import Month
from malipo.reconciliation.close.business_day import begin_of
from malipo.reconciliation.close.late_moves import LateMoves, find_late

OpenRow = Row

_OF_BANK = "CASE 'bank' WHEN h.source THEN h.amount ELSE -h.amount END * 100"  # of a row `h`
# Lines up to the last day. `$1` is no statement: see LINE_COUNTS.
_LINES = f"lines AS (SELECT * FROM bank_lines b WHERE b.booked_on <= $2 AND {LINE_COUNTS})"
_PLACED = """
    placed AS (
        SELECT m.line_id, m.subject_id, m.meaning = 'return' AS is_return, m.amount FROM bank_line_matches m
        JOIN lines b ON b.id = m.line_id
    )
"""


def _movements(is_later: str) -> str:
    """What moved the bank, and is not undone: a settlement and its return are two. Opening balances are of the time
    before the first line, and the shillings of cents have no line."""
    return f"""
    movements AS (
        SELECT subject, is_return, sum(cents)::bigint AS cents, min(day) AS day, max(reference) AS reference,
               max(merchant_id) AS merchant_id
        FROM (
            SELECT m.cause_id AS subject, m.step = 'return' AS is_return, {_OF_BANK} AS cents,
                   {clock.day_sql("m.created_at")} AS day, coalesce(s.reference, k.bank_reference, '') AS reference,
                   m.merchant_id
            FROM moves m CROSS JOIN LATERAL (SELECT m.source, m.target, m.amount) AS h
            LEFT JOIN settlements s ON s.merchant_id = m.merchant_id AND s.id = m.cause_id
            LEFT JOIN bookings k ON k.id = m.cause_id
            WHERE 'bank' IN (m.source, m.target) AND m.merchant_id <> '{HOUSE}' AND m.created_at < $3
              AND NOT (m.created_at >= $4 AND {is_later})
            UNION ALL
            SELECT coalesce(reverses, id), false, {_OF_BANK}, value_date, reference, '' FROM house_bookings h
            WHERE 'bank' IN (source, target) AND value_date <= $2
              AND kind NOT IN ('rounding', 'opening_balance')
              AND NOT EXISTS (SELECT FROM house_bookings o WHERE o.id = h.reverses AND o.kind = 'opening_balance')
        ) AS moved
        GROUP BY 1, 2 HAVING sum(cents) <> 0
    )
    """


async def find_accounts(connection: Conn, last: date) -> list[Row]:
    """Our accounts that have statements: what each held before its first line, and the sum of its lines."""
    return list(
        await connection.fetch(
            f"""
            SELECT p.number, f.opening, coalesce((
                       SELECT sum(b.cents) FROM bank_lines b
                       WHERE b.payer_account_id = p.id AND b.booked_on <= $2 AND {LINE_COUNTS}), 0)::bigint AS moved
            FROM payer_accounts p JOIN (
                SELECT DISTINCT ON (payer_account_id) payer_account_id, opening FROM bank_statements f
                WHERE {COUNTS} AND opening IS NOT NULL AND begins_on <= $2
                ORDER BY payer_account_id, begins_on, ends_on DESC, id
            ) AS f ON f.payer_account_id = p.id
            ORDER BY p.number, p.id
            """,
            "",
            last,
        )
    )


async def find_lines_without_movement(connection: Conn, month: Month) -> list[Row]:
    """Lines of which the books have nothing, or not all, in the same time. A line with a settlement's key is about that
    settlement, whatever has become of the line since."""
    late = await find_late(connection, month.last)
    return list(
        await connection.fetch(
            f"""
            WITH {_LINES}, {_PLACED}, {_movements(late.is_later)}
            SELECT p.number AS account, b.booked_on AS day, b.cents - coalesce(in_books.amount, 0) AS cents,
                   b.reference, coalesce(s.id, '') AS subject, coalesce(s.merchant_id, '') AS merchant_id
            FROM lines b JOIN payer_accounts p ON p.id = b.payer_account_id
            LEFT JOIN settlements s ON s.key = b.key AND s.created_at < $3
            LEFT JOIN (
                SELECT line_id, sum(amount)::bigint AS amount FROM placed JOIN movements v
                    ON v.subject = placed.subject_id AND v.is_return = placed.is_return GROUP BY 1
            ) AS in_books ON in_books.line_id = b.id
            WHERE b.cents <> coalesce(in_books.amount, 0)
            ORDER BY b.booked_on, b.entry_reference, b.entry_cents, b.nth, b.part, b.id
            """,
            *_until(month, late),
        )
    )


async def find_movements_without_line(connection: Conn, month: Month) -> list[Row]:
    """What the books have, and no line of the same time."""
    late = await find_late(connection, month.last)
    return list(
        await connection.fetch(
            f"""
            WITH {_LINES}, {_PLACED}, {_movements(late.is_later)}
            SELECT '' AS account, v.day, v.cents, v.reference, v.subject, v.merchant_id FROM movements v
            WHERE NOT EXISTS (SELECT FROM placed p WHERE p.subject_id = v.subject AND p.is_return = v.is_return)
            ORDER BY v.day, v.subject, v.is_return
            """,
            *_until(month, late),
        )
    )


def _until(month: Month, late: LateMoves) -> list[object]:
    return ["", month.last, month.ends, begin_of(late.since)]


async def sum_opening_balances(connection: Conn, last: date) -> int:
    """What operators booked as held by the bank when malipo began."""
    return await _sum(
        connection,
        f"""
        SELECT sum({_OF_BANK}) FROM house_bookings h
        WHERE 'bank' IN (source, target) AND value_date <= $1 AND (kind = 'opening_balance' OR EXISTS (
            SELECT FROM house_bookings o WHERE o.id = h.reverses AND o.kind = 'opening_balance'))
        """,
        last,
    )


async def sum_cents(connection: Conn, last: date) -> int:
    """What lines have beyond what was booked of them."""
    return await _sum(
        connection,
        f"SELECT sum(cents) FROM house_bookings WHERE channel = '{house_bookings.OF_BANK}' AND value_date <= $1",
        last,
    )


async def _sum(connection: Conn, query: str, last: date) -> int:
    return int(await connection.fetchval(query, last) or 0)

"""The SQL of what people decided in a month, and of what was open at its end.

What happened later is left out, as if it were read in the last moment of the month: so the archive stays the same. Who
undoes a decision of the month, or withdraws a statement of it, changes it all the same.
"""

from collections.abc import AsyncIterator
from datetime import datetime

from malipo import clock
from malipo.db import Conn, Row
from malipo.ledger.accounts import HOUSE
from malipo.month_end.month import Month
from malipo.reconciliation.close.business_day import begin_of
from malipo.reconciliation.close.late_moves import find_late

_AT_ONCE = 1000  # rows that are in memory


async def exceptions_of(connection: Conn, month: Month) -> AsyncIterator[Row]:
    """Exceptions of networks and of the bank that were open at some time of the month: with the payment that
    was adopted from a line, and the settlement whose key a line of the bank has."""
    cursor = connection.cursor(
        f"""
        SELECT e.id, e.kind, e.channel, e.account, e.amount, 0 AS cents, {clock.day_sql("l.moved_at")} AS line_day,
               coalesce(l.receipt, t.provider_reference) AS receipt, coalesce(t.reference, a.reference) AS reference,
               coalesce(e.merchant_id, a.merchant_id) AS merchant_id, e.found_at,
               CASE WHEN e.resolved_at < $2 THEN e.resolved_at END AS resolved_at,
               CASE WHEN e.resolved_at < $2 THEN e.resolved_by END AS resolved_by,
               CASE WHEN e.resolved_at < $2 THEN e.why_resolved END AS why
        FROM reconciliation_exceptions e LEFT JOIN statement_lines l ON l.id = e.line_id
        LEFT JOIN transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
        LEFT JOIN (
            SELECT DISTINCT ON (p.line_id) p.line_id, p.merchant_id, q.reference
            FROM adopted_payments p JOIN transactions q ON q.merchant_id = p.merchant_id AND q.id = p.transaction_id
            WHERE p.adopted_at < $2 ORDER BY p.line_id, p.adopted_at DESC, p.transaction_id
        ) AS a ON a.line_id = e.line_id
        WHERE e.found_at < $2 AND coalesce(e.resolved_at, $2) >= $1
        UNION ALL
        SELECT e.id, e.kind, 'bank', p.number, b.cents / 100, b.cents % 100, b.booked_on, b.reference,
               coalesce(s.reference, b.key), s.merchant_id, e.found_at,
               CASE WHEN e.resolved_at < $2 THEN e.resolved_at END, CASE WHEN e.resolved_at < $2 THEN e.resolved_by END,
               CASE WHEN e.resolved_at < $2 THEN e.how END
        FROM bank_exceptions e JOIN bank_lines b ON b.id = e.line_id
        JOIN payer_accounts p ON p.id = b.payer_account_id
        LEFT JOIN settlements s ON s.key = b.key AND s.created_at < $2
        WHERE e.found_at < $2 AND coalesce(e.resolved_at, $2) >= $1
        ORDER BY found_at, id
        """,
        month.begins,
        month.ends,
        prefetch=_AT_ONCE,
    )
    async for row in cursor:
        yield row


async def decisions_of(connection: Conn, month: Month) -> AsyncIterator[Row]:
    """What operators have proposed, approved, rejected or decided alone in the month, and what waits at its end.

    What was proposed and approved is one row, though it is also among the decisions about exceptions or payments.
    """
    cursor = connection.cursor(
        """
        SELECT d.id, d.action, d.subject, d.merchant_id, d.amount, d.terms, d.reason, d.requested_by, d.requested_at,
               CASE WHEN d.decided_at < $2 THEN d.decided_by END AS decided_by,
               CASE WHEN d.decided_at < $2 THEN d.decided_at END AS decided_at,
               CASE WHEN d.decided_at < $2 THEN d.is_approved END AS is_approved
        FROM (
            SELECT id, action, subject, NULL AS merchant_id, amount, terms::text AS terms, reason, requested_by,
                   requested_at, decided_by, decided_at, is_approved FROM proposals
            UNION ALL
            SELECT id, 'exception_' || action, exception_id, NULL, amount, terms::text, reason, requested_by,
                   requested_at, decided_by, decided_at, is_approved FROM exception_resolutions
            UNION ALL
            SELECT id, 'payment_' || outcome, transaction_id, merchant_id, credited, '', evidence, requested_by,
                   requested_at, decided_by, decided_at, is_approved FROM resolutions
        ) AS d
        WHERE d.requested_at < $2 AND coalesce(d.decided_at, $2) >= $1
          AND (d.action NOT LIKE 'exception\\_%' AND d.action NOT LIKE 'payment\\_%'
               OR NOT EXISTS (SELECT FROM proposals p WHERE p.id = d.id))
        ORDER BY d.requested_at, d.id
        """,
        month.begins,
        month.ends,
        prefetch=_AT_ONCE,
    )
    async for row in cursor:
        yield row


async def suspense_at(connection: Conn, month: Month) -> list[Row]:
    """What each cause had in suspense at the end of the month, as the books count days: the oldest first.

    A booking, what undoes it and what was released of it are one cause.
    """
    late = await find_late(connection, month.last)
    return list(
        await connection.fetch(
            f"""
            SELECT c.cause, coalesce(nullif(c.merchant_id, ''), e.merchant_id, '') AS merchant_id, c.amount, c.since,
                   CASE WHEN t.id IS NOT NULL THEN 'payment' WHEN s.id IS NOT NULL THEN 'settlement'
                        ELSE coalesce(h.kind, '') END AS kind,
                   coalesce(t.channel, h.channel, '') AS channel,
                   coalesce(t.reference, s.reference, e.reference, nullif(b.reference, ''), nullif(h.reference, ''), '')
                       AS reference,
                   coalesce(CASE WHEN t.ended_at < $1 THEN t.provider_reference END, l.receipt, '') AS receipt,
                   coalesce(h.evidence, '') AS evidence, coalesce(r.released_to, '') AS released_to
            FROM (
                SELECT merchant_id, cause, sum(amount)::bigint AS amount, min(day) AS since FROM (
                    SELECT CASE WHEN b.releases IS NULL THEN m.merchant_id ELSE '' END AS merchant_id,
                           coalesce(b.releases, m.cause_id) AS cause,
                           CASE 'suspense' WHEN m.target THEN m.amount ELSE -m.amount END AS amount,
                           {clock.day_sql("m.created_at")} AS day
                    FROM moves m LEFT JOIN bookings b ON b.id = m.cause_id
                    WHERE 'suspense' IN (m.source, m.target) AND m.merchant_id <> '{HOUSE}' AND m.created_at < $1
                      AND NOT (m.created_at >= $2 AND {late.is_later})
                    UNION ALL
                    SELECT '', coalesce(reverses, id), CASE 'suspense' WHEN target THEN amount ELSE -amount END,
                           value_date
                    FROM house_bookings WHERE 'suspense' IN (source, target) AND value_date <= $3
                ) AS moved
                GROUP BY 1, 2 HAVING sum(amount) <> 0
            ) AS c
            LEFT JOIN transactions t ON t.merchant_id = c.merchant_id AND t.id = c.cause
            LEFT JOIN settlements s ON s.merchant_id = c.merchant_id AND s.id = c.cause
            LEFT JOIN house_bookings h ON h.id = c.cause AND c.merchant_id = ''
            LEFT JOIN statement_lines l ON l.id = h.line_id
            LEFT JOIN bank_lines b ON b.id = CASE WHEN h.kind = 'bank_line' THEN h.reference::bigint END
            LEFT JOIN LATERAL (
                SELECT e.merchant_id, p.reference FROM reconciliation_exceptions e
                JOIN transactions p ON p.merchant_id = e.merchant_id AND p.id = e.transaction_id
                WHERE e.line_id = h.line_id AND e.found_at < $1 ORDER BY e.found_at, e.id LIMIT 1
            ) AS e ON true
            LEFT JOIN LATERAL (
                SELECT string_agg(merchant_id || ' ' || amount, '; ' ORDER BY merchant_id) AS released_to FROM (
                    SELECT m.merchant_id, sum(CASE 'suspense' WHEN m.source THEN m.amount ELSE -m.amount END) AS amount
                    FROM bookings k JOIN moves m ON m.merchant_id = k.merchant_id AND m.cause_id = k.id
                    WHERE k.releases = c.cause AND m.created_at < $1 AND NOT (m.created_at >= $2 AND {late.is_later})
                    GROUP BY 1 HAVING sum(CASE 'suspense' WHEN m.source THEN m.amount ELSE -m.amount END) <> 0
                ) AS of_merchants
            ) AS r ON true
            ORDER BY c.since, c.cause
            """,
            month.ends,
            begin_of(late.since),
            month.last,
        )
    )


async def audit_log_of(connection: Conn, begins: datetime, ends: datetime) -> AsyncIterator[Row]:
    cursor = connection.cursor(
        """
        SELECT created_at, actor, address, coalesce(os_user, '') AS os_user, action,
               coalesce(merchant_id, '') AS merchant_id, details::text AS details, id
        FROM audit_log WHERE created_at >= $1 AND created_at < $2 ORDER BY created_at, id
        """,
        begins,
        ends,
        prefetch=_AT_ONCE,
    )
    async for row in cursor:
        yield row

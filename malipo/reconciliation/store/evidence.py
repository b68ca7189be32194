"""The SQL of evidence: matched lines that their payments have not been told of."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from malipo.db import Conn, Row, Tx
from malipo.networks.connector import Channel, Type


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """A line, and the payment that it belongs to."""

    line_id: int
    role: str  # payment or reversal
    receipt: str
    amount: int  # of the line
    line_channel: Channel
    account: str
    merchant_id: str
    transaction_id: str
    channel: Channel
    network_key: str
    type: Type
    payment_amount: int
    ordinal: int  # of the payment's last correction: a line is reported again if something contradicts it later
    is_second: bool  # it was reported when the payment was open, and the payment has ended otherwise since then
    is_taken_back: bool  # it is a payment's line, and there is one of its reversal


async def note_contradicted(tx: Tx) -> None:
    """Have lines reported again whose payments were since then said to be something else, by somebody else: by a
    network, or by operators who ended a payment that was open when its line was reported."""
    await tx.execute(
        """
        UPDATE statement_matches m SET is_reported = false
        FROM corrections c
        WHERE m.merchant_id = c.merchant_id AND m.transaction_id = c.transaction_id AND m.is_reported
          AND c.source IS DISTINCT FROM 'statement'
          AND CASE m.role WHEN 'reversal' THEN c.is_paid
              WHEN 'payment' THEN NOT c.is_paid AND NOT EXISTS (
                  SELECT FROM statement_matches r
                  WHERE r.merchant_id = m.merchant_id AND r.transaction_id = m.transaction_id AND r.role = 'reversal')
              ELSE false END
        """
    )
    await tx.execute(
        """
        UPDATE statement_matches m SET is_reported = false
        FROM reconciliation_exceptions e
        JOIN transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
        WHERE e.kind = 'state_differs' AND e.state <> 'resolved' AND m.line_id = e.line_id AND m.is_reported
          AND t.ended_at IS NOT NULL AND (t.status = 'COMPLETED') = (m.role = 'reversal')
          AND NOT EXISTS (SELECT FROM corrections c
                          WHERE c.merchant_id = e.merchant_id AND c.transaction_id = e.transaction_id)
        """
    )


async def find_unreported(tx: Tx, *, limit: int, line_id: int | None = None) -> list[Evidence]:
    rows = await tx.fetch(
        """
        SELECT m.line_id, m.role, l.receipt, l.amount, l.channel AS line_channel, l.account, m.merchant_id,
               m.transaction_id, t.channel, t.network_key, t.type, t.amount AS payment_amount,
               coalesce(c.ordinal, 0) AS ordinal,
               c.ordinal IS NULL AND t.ended_at IS NOT NULL AND EXISTS (
                   SELECT FROM reconciliation_exceptions e
                   WHERE e.line_id = m.line_id AND e.kind = 'state_differs') AS is_second,
               m.role = 'payment' AND EXISTS (
                   SELECT FROM statement_matches r
                   WHERE r.merchant_id = m.merchant_id AND r.transaction_id = m.transaction_id AND r.role = 'reversal'
               ) AS is_taken_back
        FROM statement_matches m JOIN statement_lines l ON l.id = m.line_id
        JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.transaction_id
        LEFT JOIN corrections c ON c.merchant_id = m.merchant_id AND c.transaction_id = m.transaction_id
        WHERE NOT m.is_reported AND ($2::bigint IS NULL OR m.line_id = $2) ORDER BY m.line_id LIMIT $1
        """,
        limit,
        line_id,
    )
    return [_evidence(row) for row in rows]


async def set_reported(tx: Tx, line_ids: Sequence[int]) -> None:
    """With when the ledger last moved the float for the payment."""
    await tx.execute(
        """
        UPDATE statement_matches m
        SET is_reported = true, ledger_at = (
            SELECT max(e.created_at) FROM moves e
            WHERE e.merchant_id = m.merchant_id AND e.cause_id = m.transaction_id
              AND e.step IN ('end', 'contradiction') AND 'float' IN (e.source, e.target))
        WHERE m.line_id = ANY($1)
        """,
        list(line_ids),
    )


async def insert_match(tx: Tx, line_id: int, merchant_id: str, transaction_id: str, *, by: str, now: datetime) -> bool:
    """Match a line as operators say. False: it is matched, or the payment has another line."""
    done = await tx.execute(
        """
        WITH matched AS (
            INSERT INTO statement_matches (
                line_id, merchant_id, transaction_id, role, how, is_reported, matched_by, matched_at)
            VALUES ($1, $2, $3, 'payment', 'operator', false, $4, $5) ON CONFLICT DO NOTHING RETURNING line_id
        )
        DELETE FROM open_statement_lines o USING matched WHERE o.line_id = matched.line_id
        """,
        line_id,
        merchant_id,
        transaction_id,
        by,
        now,
    )
    return done == "DELETE 1"


async def has_line(connection: Conn, merchant_id: str, transaction_id: str) -> bool:
    """Whether the payment has a line."""
    return bool(
        await connection.fetchval(
            """
            SELECT EXISTS (SELECT FROM statement_matches
                           WHERE merchant_id = $1 AND transaction_id = $2 AND role = 'payment')
            """,
            merchant_id,
            transaction_id,
        )
    )


async def delete_match(tx: Tx, line_id: int) -> bool:
    """Undo a match: the line is open again, and so is the line that takes it back, which found its payment through it.
    The audit log keeps that it was matched. Whether there was one."""
    done = await tx.execute(
        """
        WITH gone AS (
            DELETE FROM statement_matches s
            WHERE s.line_id = $1 OR (s.role = 'reversal' AND (s.merchant_id, s.transaction_id) IN (
                SELECT p.merchant_id, p.transaction_id FROM statement_matches p
                WHERE p.line_id = $1 AND p.role = 'payment'))
            RETURNING s.line_id)
        INSERT INTO open_statement_lines (line_id, channel)
        SELECT l.id, l.channel FROM gone JOIN statement_lines l ON l.id = gone.line_id
        """,
        line_id,
    )
    return done != "INSERT 0 0"


def _evidence(row: Row) -> Evidence:
    return msgspec.convert(dict(row), Evidence)

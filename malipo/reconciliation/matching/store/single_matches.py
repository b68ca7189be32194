"""The SQL of single matches: operators make them, and they are undone. Whole sets: `matching.py`."""

from collections.abc import Sequence
from datetime import datetime

from malipo.audit_log.actor import SYSTEM_NAME
from malipo.db import Conn, Tx
from malipo.reconciliation.matching.store.evidence import IS_PAID

_NOT_MATCHED = "The line is no longer matched with the payment."


async def find_lines_of_payment(connection: Conn, merchant_id: str, transaction_id: str) -> list[int]:
    """The lines that are matched with a payment: its own line, and its reversal."""
    rows = await connection.fetch(
        "SELECT line_id FROM statement_matches WHERE merchant_id = $1 AND transaction_id = $2 ORDER BY 1",
        merchant_id,
        transaction_id,
    )
    return [row["line_id"] for row in rows]


async def insert_match(tx: Tx, line_id: int, merchant_id: str, transaction_id: str, *, by: str, now: datetime) -> bool:
    """Match a line for an operator. Returns False if it is matched already, or if the payment has another line."""
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


async def report_payments_again(tx: Tx, line_ids: str, *values: object) -> None:
    """Have the lines of payments that count as unpaid reported again, because their reversals are about to lose their
    matches. A SELECT names the lines."""
    await tx.execute(
        f"""
        UPDATE statement_matches p SET is_reported = false, is_counted = false, proposal_id = NULL
        FROM statement_matches r JOIN transactions t ON t.merchant_id = r.merchant_id AND t.id = r.transaction_id
        LEFT JOIN corrections c ON c.merchant_id = r.merchant_id AND c.transaction_id = r.transaction_id
        WHERE r.line_id IN ({line_ids}) AND r.role = 'reversal' AND p.merchant_id = r.merchant_id
          AND p.transaction_id = r.transaction_id AND p.role = 'payment' AND p.is_reported AND NOT {IS_PAID}
        """,
        *values,
    )


async def delete_matches(tx: Tx, line_ids: Sequence[int], *, rejected_in: str | None = None) -> bool:
    """Undo matches: each line is back in the queue, and so is its reversal, which found the payment by it. The audit
    log keeps who matched it. `rejected_in` is the proposal by which operators rejected it. Returns whether there was a
    match."""
    await report_payments_again(tx, "SELECT unnest($1::bigint[])", list(line_ids))
    done = await tx.execute(
        """
        WITH gone AS (
            DELETE FROM statement_matches s
            WHERE s.line_id = ANY($1) OR (s.role = 'reversal' AND (s.merchant_id, s.transaction_id) IN (
                SELECT p.merchant_id, p.transaction_id FROM statement_matches p
                WHERE p.line_id = ANY($1) AND p.role = 'payment'))
            RETURNING s.line_id)
        INSERT INTO open_statement_lines (line_id, channel, rejected_in)
        SELECT l.id, l.channel, CASE WHEN l.id = ANY($1) THEN $2 END
        FROM gone JOIN statement_lines l ON l.id = gone.line_id
        """,
        list(line_ids),
        rejected_in,
    )
    return done != "INSERT 0 0"


async def give_up_matches(tx: Tx, line_ids: Sequence[int], *, now: datetime, rejected_in: str | None = None) -> None:
    """Undo matches, and resolve exceptions about a difference between such a line and an unreported payment."""
    if not line_ids:
        return
    unreported = [
        row["line_id"]
        for row in await tx.fetch(
            "SELECT line_id FROM statement_matches WHERE line_id = ANY($1) AND NOT is_reported", list(line_ids)
        )
    ]
    await delete_matches(tx, line_ids, rejected_in=rejected_in)
    await tx.execute(
        f"""
        UPDATE reconciliation_exceptions
        SET state = 'resolved', resolved_by = '{SYSTEM_NAME}', resolved_at = $2, why_resolved = $3
        WHERE line_id = ANY($1) AND kind = 'state_differs' AND state <> 'resolved'
        """,
        unreported,
        now,
        _NOT_MATCHED,
    )

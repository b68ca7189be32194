"""The SQL of evidence: matched lines, and whether they were reported to their payments."""

from collections.abc import Sequence

import msgspec

from malipo.db import Conn, Row, Tx
from malipo.networks.connector import Channel, Type
from malipo.reconciliation.matching.store.reported_by_network import is_own_reversal_sql


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """A line, and the payment that it belongs to."""

    line_id: int
    role: str  # payment or reversal
    receipt: str
    amount: int  # of the line
    line_channel: Channel
    account: str
    layout: str  # that read the line's file
    merchant_id: str
    transaction_id: str
    channel: Channel
    network_key: str
    type: Type
    payment_amount: int
    ordinal: int  # of the payment's last correction; a line that is contradicted later is reported again
    is_second: bool  # it was reported while the payment was open, which has since ended with another outcome
    is_taken_back: bool  # a counted line reverses it


IS_PAID = "coalesce(c.is_paid, t.status = 'COMPLETED')"


# Whether the line of the match `m` was reversed. A reversal that only an operator's file has could be invented: it
# counts, and is reported, once it was counted as moved by that operator, or two operators have agreed.
IS_TAKEN_BACK = f"""
    EXISTS (
        SELECT FROM statement_matches r JOIN statement_lines b ON b.id = r.line_id
        WHERE r.merchant_id = m.merchant_id AND r.transaction_id = m.transaction_id AND r.role = 'reversal'
          AND (r.is_counted OR r.is_reported OR {is_own_reversal_sql("b")}))
"""


async def is_unreported(connection: Conn, line_id: int) -> bool:
    """Whether a line is matched and was not reported to its payment yet."""
    return bool(
        await connection.fetchval(
            "SELECT EXISTS (SELECT FROM statement_matches WHERE line_id = $1 AND NOT is_reported)", line_id
        )
    )


async def note_contradicted(tx: Tx) -> None:
    """Have lines reported again whose payments were contradicted since the report: by a network, or by operators who
    ended a payment that was open when its line was reported."""
    await tx.execute(
        f"""
        UPDATE statement_matches m SET is_reported = false, is_counted = false, proposal_id = NULL
        FROM corrections c
        WHERE m.merchant_id = c.merchant_id AND m.transaction_id = c.transaction_id AND m.is_reported
          AND c.source IS DISTINCT FROM 'statement'
          AND CASE m.role WHEN 'reversal' THEN c.is_paid
              WHEN 'payment' THEN NOT c.is_paid AND NOT {IS_TAKEN_BACK}
              ELSE false END
        """
    )
    await tx.execute(
        """
        UPDATE statement_matches m SET is_reported = false, is_counted = false, proposal_id = NULL
        FROM reconciliation_exceptions e
        JOIN transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
        WHERE e.kind = 'state_differs' AND e.state <> 'resolved' AND m.line_id = e.line_id AND m.is_reported
          AND t.ended_at IS NOT NULL AND (t.status = 'COMPLETED') = (m.role = 'reversal')
          AND NOT EXISTS (SELECT FROM corrections c
                          WHERE c.merchant_id = e.merchant_id AND c.transaction_id = e.transaction_id)
        """
    )


async def find_unreported(tx: Tx, *, limit: int, line_ids: Sequence[int] | None = None) -> list[Evidence]:
    """Unreported lines that may be reported; or the lines `line_ids`, even if they wait."""
    rows = await tx.fetch(
        f"""
        SELECT m.line_id, m.role, l.receipt, l.amount, l.channel AS line_channel, l.account, f.profile AS layout,
               m.merchant_id, m.transaction_id, t.channel, t.network_key, t.type, t.amount AS payment_amount,
               coalesce(c.ordinal, 0) AS ordinal,
               c.ordinal IS NULL AND t.ended_at IS NOT NULL AND EXISTS (
                   SELECT FROM reconciliation_exceptions e
                   WHERE e.line_id = m.line_id AND e.kind = 'state_differs') AS is_second,
               m.role = 'payment' AND {IS_TAKEN_BACK} AS is_taken_back
        FROM statement_matches m JOIN statement_lines l ON l.id = m.line_id
        JOIN statement_files f ON f.id = l.file_id
        JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.transaction_id
        LEFT JOIN corrections c ON c.merchant_id = m.merchant_id AND c.transaction_id = m.transaction_id
        WHERE NOT m.is_reported AND CASE WHEN $2::bigint[] IS NULL THEN m.proposal_id IS NULL
              ELSE m.line_id = ANY($2) END
        ORDER BY m.line_id LIMIT $1
        """,
        limit,
        None if line_ids is None else list(line_ids),
    )
    return [_evidence(row) for row in rows]


async def set_reported(tx: Tx, line_ids: Sequence[int]) -> None:
    """Mark lines as reported, with the time at which the ledger last moved the float for the payment."""
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


def _evidence(row: Row) -> Evidence:
    return msgspec.convert(dict(row), Evidence)

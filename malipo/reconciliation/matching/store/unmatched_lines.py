"""The SQL of lines that are unmatched after matching: the reason, and the payments that they may be of."""

from collections.abc import AsyncIterator
from datetime import datetime

import msgspec

from malipo.audit_log.actor import SYSTEM_NAME
from malipo.db import Conn, Tx
from malipo.network_statements.statement_line import LineKind
from malipo.networks.connector import Channel
from malipo.reconciliation.matching.exception import UNMATCHED_LINE_KINDS, Suggestion
from malipo.reconciliation.matching.store.payments import has_other_line_sql
from malipo.reconciliation.matching.store.reported_by_network import SIGNED, keys_of_sql
from malipo.reconciliation.matching.store.summed_lines import IS_SUMMED

_AT_A_TIME = 1000
_UNMATCHED = ", ".join(f"'{kind}'" for kind in UNMATCHED_LINE_KINDS)


class UnmatchedLine(msgspec.Struct, frozen=True, kw_only=True):
    line_id: int
    channel: Channel
    account: str
    kind: LineKind
    amount: int
    key: str
    phone: str
    candidates: int  # the number of payments with its receipt or its key
    merchant_id: str | None  # of the only candidate
    transaction_id: str | None
    is_taken: bool  # the candidate has another line
    ledger_amount: int  # that the ledger moved for the candidate, signed as in a statement


async def find(tx: Tx) -> AsyncIterator[list[UnmatchedLine]]:
    """The unmatched lines without an exception, or with one whose kind may change; in pieces.

    Only in the transaction that has noted the candidates.
    """
    cursor = await tx.cursor(
        f"""
        SELECT l.id AS line_id, l.channel, l.account, l.kind, l.amount, l.key, l.phone,
               coalesce(c.number, 0) AS candidates, c.merchant_id, c.transaction_id, m.line_id IS NOT NULL AS is_taken,
               CASE WHEN coalesce(k.is_paid, t.status = 'COMPLETED') THEN {SIGNED} ELSE 0 END AS ledger_amount
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        LEFT JOIN (
            SELECT line_id, count(*) AS number, CASE count(*) WHEN 1 THEN min(merchant_id) END AS merchant_id,
                   CASE count(*) WHEN 1 THEN min(transaction_id) END AS transaction_id
            FROM candidates GROUP BY 1
        ) c ON c.line_id = l.id
        LEFT JOIN transactions t ON t.merchant_id = c.merchant_id AND t.id = c.transaction_id
        LEFT JOIN corrections k ON k.merchant_id = c.merchant_id AND k.transaction_id = c.transaction_id
        LEFT JOIN statement_matches m ON m.merchant_id = c.merchant_id AND m.transaction_id = c.transaction_id
             AND m.role = 'payment'
        LEFT JOIN reconciliation_exceptions e ON e.line_id = l.id AND e.kind IN ({_UNMATCHED})
        WHERE NOT ({IS_SUMMED}) AND (e.id IS NULL OR e.state = 'open' OR e.resolved_by = '{SYSTEM_NAME}')
        ORDER BY l.moved_at, l.id
        """
    )
    while rows := await cursor.fetch(_AT_A_TIME):
        yield [msgspec.convert(dict(row), UnmatchedLine) for row in rows]


async def suggest(
    connection: Conn,
    line_id: int,
    *,
    channels: list[str],
    day: tuple[str, str],
    moments: tuple[datetime, datetime],
    limit: int,
) -> list[Suggestion]:
    """Payments that a line may be of, without a line or another line's receipt: by receipt or key; or of its amount and
    direction, with its phone within minutes, or of its day. The likeliest first."""
    rows = await connection.fetch(
        f"""
        SELECT found.* FROM (
            SELECT t.merchant_id, t.id AS transaction_id, t.reference, t.type, t.status, t.amount, t.phone,
                   t.created_at,
                   CASE WHEN t.provider_reference = l.receipt THEN 'receipt'
                        WHEN t.network_key IN ({keys_of_sql("l.key")}) THEN 'key'
                        WHEN l.phone <> '' AND t.created_at BETWEEN $5 AND $6 AND t.phone LIKE '%' ||
                             regexp_replace(regexp_replace(l.phone, '^\\+', ''), '[*xX]+', '%') THEN 'phone'
                        ELSE 'day' END AS why
            FROM statement_lines l CROSS JOIN merchants m CROSS JOIN LATERAL (
                SELECT p.* FROM transactions p WHERE p.merchant_id = m.id AND p.id >= $3 AND p.id <= $4
            ) t
            WHERE l.id = $1 AND t.channel = ANY($2)
              AND sign({SIGNED}) = sign(l.amount) AND t.network_key <> t.id -- or it could only be refused
              AND ({SIGNED} = l.amount OR t.provider_reference = l.receipt OR t.network_key IN ({keys_of_sql("l.key")}))
              AND NOT EXISTS (SELECT FROM statement_matches s
                              WHERE s.merchant_id = t.merchant_id AND s.transaction_id = t.id AND s.role = 'payment')
              AND NOT EXISTS (SELECT FROM adopted_payments a
                              WHERE a.merchant_id = t.merchant_id AND a.transaction_id = t.id
                                AND a.undone_at IS NOT NULL)
              AND NOT {has_other_line_sql("l.receipt")}
        ) found
        ORDER BY array_position(ARRAY['receipt', 'key', 'phone', 'day'], why), created_at, transaction_id LIMIT $7
        """,
        line_id,
        channels,
        *day,
        *moments,
        limit,
    )
    return [msgspec.convert(dict(row), Suggestion) for row in rows]

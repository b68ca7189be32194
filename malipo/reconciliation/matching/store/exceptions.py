"""The SQL of exceptions: malipo stores them when it finds them, and resolves them when their cause no longer exists."""

from collections.abc import Sequence
from datetime import date, datetime

import msgspec

from malipo.approvals.act_rules import EXCEPTION_UNDOS
from malipo.audit_log.actor import SYSTEM_NAME
from malipo.db import Conn, Row, Tx
from malipo.networks.connector import Channel
from malipo.reconciliation.matching.exception import (
    UNMATCHED_LINE_KINDS,
    ExceptionCount,
    ExceptionKind,
    ExceptionState,
    FoundException,
    ReconciliationException,
)
from malipo.reconciliation.matching.store.carriers import carrier_of_payment_sql
from malipo.reconciliation.matching.store.line_sources import is_shown_sql
from malipo.reconciliation.matching.store.reported_by_network import SIGNED

_encode = msgspec.json.Encoder().encode
_AT_ONCE = 1000
_UNDOS = ", ".join(f"'{act}'" for act in EXCEPTION_UNDOS)
_UNMATCHED = ", ".join(f"'{kind}'" for kind in UNMATCHED_LINE_KINDS)

# The payment's amount in the ledger's float, signed as in a statement: 0 while it is open, or if it was not paid.
_FOLLOWED = f"CASE WHEN coalesce(c.is_paid, t.status = 'COMPLETED') THEN {SIGNED} ELSE 0 END"
# Statements minus the ledger's float, because of the exception. An amount that the float has already is no difference,
# and a charge is booked as it was charged.
_DIFFERENCE = f"""
    CASE e.kind
        WHEN 'ours_only' THEN -({_FOLLOWED})
        WHEN 'amount_differs' THEN l.amount - ({_FOLLOWED})
        WHEN 'state_differs' THEN (
            SELECT coalesce(sum(x.amount), 0) FROM statement_matches s JOIN statement_lines x ON x.id = s.line_id
            WHERE s.merchant_id = e.merchant_id AND s.transaction_id = e.transaction_id
              AND s.role IN ('payment', 'reversal')) - ({_FOLLOWED})
        WHEN 'fee_differs' THEN 0
        ELSE l.amount END
"""
_COLUMNS = f"""
    e.id, e.kind, e.channel, e.account, e.amount, e.found_at, e.state, e.resolved_by, e.resolved_at, e.why_resolved,
    e.line_id, l.receipt, l.kind AS line_kind, l.amount AS line_amount, l.moved_at, l.key, l.phone, l.details,
    l.file_id, l.cents AS line_cents, l.linked,
    e.merchant_id, e.transaction_id, t.reference, t.type, t.status, t.amount AS payment_amount,
    {_FOLLOWED} AS followed,
    EXISTS (SELECT FROM statement_matches s WHERE s.merchant_id = e.merchant_id
            AND s.transaction_id = e.transaction_id AND s.role = 'payment') AS has_line,
    coalesce(l.kind = 'money', false) OR EXISTS (
        SELECT FROM statement_line_copies k WHERE k.line_id = e.line_id AND k.kind = 'money') AS is_payment_line,
    a.owner, a.due_on
"""
_JOINED = """
    reconciliation_exceptions e
    LEFT JOIN LATERAL (
        SELECT receipt, kind, amount, cents, moved_at, key, phone, details, file_id, linked
        FROM statement_lines WHERE id = e.line_id
        UNION ALL
        SELECT content ->> 'receipt', kind, amount, (content ->> 'cents')::smallint, moved_at, content ->> 'key',
               content ->> 'phone', content ->> 'details', file_id, content ->> 'linked'
        FROM withdrawn_lines WHERE line_id = e.line_id
    ) l ON true
    LEFT JOIN transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
    LEFT JOIN corrections c ON c.merchant_id = e.merchant_id AND c.transaction_id = e.transaction_id
    LEFT JOIN assignments a ON a.subject = e.id
"""


async def insert(tx: Tx, found: Sequence[FoundException], *, now: datetime) -> list[FoundException]:
    """Store exceptions, and return the new ones. One that was found before stays; while it is open, its kind may
    change.

    One that the system resolved, and whose cause is back, is opened again.
    """
    if not found:
        return []
    document = _encode(found).decode()
    rows = await tx.fetch(
        f"""
        WITH new AS (
            SELECT * FROM json_to_recordset($1) AS n (
                id text, kind text, channel text, account text, line_id bigint, merchant_id text, transaction_id text,
                amount bigint)
        ), changed AS (
            UPDATE reconciliation_exceptions e
            SET kind = n.kind, merchant_id = n.merchant_id, transaction_id = n.transaction_id, amount = n.amount
            FROM new n
            WHERE e.line_id = n.line_id AND e.state = 'open' AND e.kind <> n.kind
              AND e.kind IN ({_UNMATCHED}) AND n.kind IN ({_UNMATCHED})
        ), reopened AS (
            UPDATE reconciliation_exceptions e
            SET state = 'open', resolved_by = NULL, resolved_at = NULL, why_resolved = NULL, amount = n.amount
            FROM new n
            WHERE e.state = 'resolved' AND e.resolved_by = '{SYSTEM_NAME}'
              AND ((n.kind IN ({_UNMATCHED}) AND e.kind IN ({_UNMATCHED}) AND e.line_id = n.line_id)
                   OR (n.kind = 'state_differs' AND e.kind = 'state_differs' AND e.line_id = n.line_id)
                   OR (n.kind = 'ours_only' AND e.kind = 'ours_only'
                       AND (e.merchant_id, e.transaction_id) = (n.merchant_id, n.transaction_id)))
        )
        INSERT INTO reconciliation_exceptions (
            id, kind, channel, account, line_id, merchant_id, transaction_id, amount, found_at)
        SELECT id, kind, channel, account, line_id, merchant_id, transaction_id, amount, $2 FROM new ORDER BY id
        ON CONFLICT DO NOTHING RETURNING id
        """,
        document,
        now,
    )
    new = {row["id"] for row in rows}
    return [each for each in found if each.id in new]


async def insert_all(tx: Tx, found: Sequence[FoundException], *, now: datetime) -> None:
    """Insert any number of exceptions, as `insert` does."""
    for first in range(0, len(found), _AT_ONCE):
        await insert(tx, found[first : first + _AT_ONCE], now=now)


async def resolve_obsolete(tx: Tx, *, stated: Sequence[str], now: datetime) -> list[str]:
    """Resolve exceptions whose cause has gone, with the reason. Returns their ids.

    `stated` are the connectors of which there is any statement. A payment of another connector is not absent.
    """
    rows = await tx.fetch(
        f"""
        WITH gone AS (
            SELECT e.id, CASE
                WHEN e.kind IN ({_UNMATCHED}) THEN 'The line has its place by now.'
                WHEN e.kind = 'ours_only' AND s.line_id IS NOT NULL THEN 'A statement has it by now.'
                WHEN e.kind = 'ours_only' AND k.carrier <> ALL($2)
                    THEN 'There is no statement of ' || k.carrier || ', which carried it.'
                WHEN e.kind = 'ours_only' THEN 'Nothing was paid: the payment has failed, or was taken back.'
                ELSE 'It is decided whose money it is.' END AS why
            FROM reconciliation_exceptions e
            LEFT JOIN transactions t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
            LEFT JOIN corrections c ON c.merchant_id = e.merchant_id AND c.transaction_id = e.transaction_id
            LEFT JOIN statement_matches s ON e.kind = 'ours_only' AND s.merchant_id = e.merchant_id
                 AND s.transaction_id = e.transaction_id AND s.role = 'payment' AND {is_shown_sql("s")}
            CROSS JOIN LATERAL (
                SELECT CASE WHEN e.kind = 'ours_only'
                       THEN {carrier_of_payment_sql("e.merchant_id", "e.transaction_id")} END AS carrier
            ) AS k
            WHERE e.state <> 'resolved' AND NOT EXISTS (
                -- What was done about it is to be undone: that it has its place by now is just what is doubted.
                SELECT FROM proposals p
                WHERE p.subject = e.id AND p.decided_at IS NULL AND p.action IN ({_UNDOS}))
              AND CASE
                WHEN e.kind IN ({_UNMATCHED})
                    THEN NOT EXISTS (SELECT FROM open_statement_lines o WHERE o.line_id = e.line_id)
                WHEN e.kind = 'ours_only'
                    THEN s.line_id IS NOT NULL OR coalesce(k.carrier <> ALL($2), false) OR (t.ended_at IS NOT NULL
                         AND NOT coalesce(c.is_paid, t.status = 'COMPLETED'))
                WHEN e.kind = 'state_differs' THEN t.ended_at IS NOT NULL AND c.is_open IS NOT TRUE AND NOT EXISTS (
                    -- Its line waits for a second operator, or was rejected.
                    SELECT FROM statement_matches w WHERE w.line_id = e.line_id AND NOT w.is_reported)
                ELSE false END
        )
        UPDATE reconciliation_exceptions e
        SET state = 'resolved', resolved_by = '{SYSTEM_NAME}', resolved_at = $1, why_resolved = g.why
        FROM gone g WHERE e.id = g.id RETURNING e.id
        """,
        now,
        list(stated),
    )
    return [row["id"] for row in rows]


class ExceptionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The filter of a list of exceptions; None matches all."""

    kind: ExceptionKind | None = None
    channel: Channel | None = None
    state: ExceptionState | None = None
    is_live: bool = True  # without a state: only unresolved exceptions
    found_before: datetime | None = None
    found_since: datetime | None = None
    owner: str | None = None  # an operator's name
    is_unowned: bool = False
    due_until: date | None = None


async def find(
    connection: Conn, wanted: ExceptionFilter, *, before: str | None = None, limit: int
) -> list[ReconciliationException]:
    """Exceptions, the latest first; `before` is the last id of the page before."""
    live = "AND e.state <> 'resolved'" if wanted.is_live and wanted.state is None else ""
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM {_JOINED}
        WHERE ($1::text IS NULL OR e.kind = $1) AND ($2::text IS NULL OR e.channel = $2)
          AND ($3::text IS NULL OR e.state = $3) AND ($4::timestamptz IS NULL OR e.found_at < $4)
          AND ($5::timestamptz IS NULL OR e.found_at >= $5) AND ($6::text IS NULL OR e.id < $6)
          AND ($8::text IS NULL OR a.owner = $8) AND (NOT $9 OR a.owner IS NULL)
          AND ($10::date IS NULL OR a.due_on <= $10) {live}
        ORDER BY e.id DESC LIMIT $7
        """,
        wanted.kind,
        wanted.channel,
        wanted.state,
        wanted.found_before,
        wanted.found_since,
        before,
        limit,
        wanted.owner,
        wanted.is_unowned,
        wanted.due_until,
    )
    return [_exception(row) for row in rows]


async def find_of_payment(connection: Conn, merchant_id: str, transaction_id: str) -> list[ReconciliationException]:
    """All exceptions of one payment, also resolved ones: those that name it, and those about its line. The oldest
    first."""
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM {_JOINED}
        WHERE e.id IN (
            SELECT id FROM reconciliation_exceptions WHERE merchant_id = $1 AND transaction_id = $2
            UNION SELECT x.id FROM statement_matches s JOIN reconciliation_exceptions x ON x.line_id = s.line_id
                  WHERE s.merchant_id = $1 AND s.transaction_id = $2)
        ORDER BY e.id
        """,
        merchant_id,
        transaction_id,
    )
    return [_exception(row) for row in rows]


async def get(connection: Conn, exception_id: str) -> ReconciliationException | None:
    row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM {_JOINED} WHERE e.id = $1", exception_id)
    return None if row is None else _exception(row)


async def find_by_ids(connection: Conn, exception_ids: Sequence[str]) -> list[ReconciliationException]:
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM {_JOINED} WHERE e.id = ANY($1) ORDER BY e.id", list(exception_ids)
    )
    return [_exception(row) for row in rows]


async def lock(tx: Tx, exception_id: str) -> ReconciliationException | None:
    """Lock an exception until the commit, because two operators may decide at once."""
    await tx.execute("SELECT FROM reconciliation_exceptions WHERE id = $1 FOR UPDATE", exception_id)
    return await get(tx, exception_id)


async def set_state(
    tx: Tx, exception_id: str, state: ExceptionState, *, by: str | None = None, why: str | None = None, now: datetime
) -> None:
    is_resolved = state is ExceptionState.RESOLVED
    await tx.execute(
        """
        UPDATE reconciliation_exceptions SET state = $2, resolved_by = $3, resolved_at = $4, why_resolved = $5
        WHERE id = $1
        """,
        exception_id,
        state,
        by if is_resolved else None,
        now if is_resolved else None,
        why if is_resolved else None,
    )


async def count(connection: Conn, *, now: datetime) -> list[ExceptionCount]:
    """Count unresolved exceptions by kind, channel and age."""
    rows = await connection.fetch(
        f"""
        SELECT e.kind, e.channel,
               CASE WHEN e.found_at > $1::timestamptz - interval '1 day' THEN 'today'
                    WHEN e.found_at > $1::timestamptz - interval '7 days' THEN 'week' ELSE 'older' END AS age,
               count(*) AS count, sum({_DIFFERENCE})::bigint AS difference, sum(abs(e.amount))::bigint AS absolute
        FROM {_JOINED} WHERE e.state <> 'resolved' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
        """,
        now,
    )
    return [msgspec.convert(dict(row), ExceptionCount) for row in rows]


def _exception(row: Row) -> ReconciliationException:
    return msgspec.convert(dict(row), ReconciliationException)

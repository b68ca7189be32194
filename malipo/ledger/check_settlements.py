"""The ledger check of settlements: their moves, against their statuses. Written out in SQL by hand, independent of
`settlement/settlement.py`, so that a mistake there is found. It only reads.
"""

from malipo.db import Conn
from malipo.db.key_range import EVERYTHING, KeyRange
from malipo.ledger.check import LedgerFinding

# Step, source, target, amount, and when it is due. Adopted ones are debited without a debit of the wallet before.
_DUE_MOVES = (
    ("open", "wallet", "in_settlement", "s.amount", "NOT s.is_adopted"),
    ("end", "in_settlement", "wallet", "s.amount", "s.status = 'CANCELLED'"),
    ("end", "in_settlement", "bank", "s.amount - s.fee", "NOT s.is_adopted AND s.completed_at IS NOT NULL"),
    ("end", "in_settlement", "fees", "s.fee", "NOT s.is_adopted AND s.completed_at IS NOT NULL AND s.fee > 0"),
    ("return", "bank", "in_settlement", "s.amount - s.fee", "NOT s.is_adopted AND s.is_back"),
    ("return", "fees", "in_settlement", "s.fee", "NOT s.is_adopted AND s.is_back AND s.fee > 0"),
    ("return", "in_settlement", "wallet", "s.amount", "NOT s.is_adopted AND s.status = 'RETURNED'"),
    ("contradiction", "suspense", "bank", "s.amount", "s.is_adopted"),
)


async def wrong_settlements(connection: Conn, within: KeyRange = EVERYTHING) -> list[LedgerFinding]:
    return [
        *await _wrong_moves(connection, within),
        *await _wrong_adoptions(connection, within),
        *await _wrong_events(connection, within),
    ]


async def _wrong_moves(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    due = " UNION ALL ".join(
        f"SELECT merchant_id, id, '{step}', '{source}', '{target}', {amount}, s.statement_line FROM s WHERE {condition}"
        for step, source, target, amount, condition in _DUE_MOVES
    )
    rows = await connection.fetch(
        f"""
        WITH s AS (
            SELECT *, status = 'RETURNED' AND completed_at IS NOT NULL AS is_back FROM settlements
            WHERE {within.holds("merchant_id", "id")}
        ), due (merchant_id, id, step, source, target, amount, line) AS ({due}),
        found AS (
            SELECT m.merchant_id, m.cause_id AS id, m.step, m.source, m.target, m.amount, m.statement_line
            FROM moves m
            WHERE left(m.cause_id, 4) = 'stl_' AND {within.holds("m.merchant_id", "m.cause_id")}
              -- What the wallet bore of an adopted one, and what came back of it, is compared as a sum.
              AND m.step <> 'resolution'
              AND NOT (m.step = 'return' AND EXISTS (SELECT FROM s WHERE s.id = m.cause_id AND s.is_adopted))
        )
        SELECT coalesce(d.id, f.id) AS id, coalesce(d.step, f.step) AS step, f.amount AS stored, d.amount AS computed
        FROM due d FULL JOIN found f USING (merchant_id, id, step, source, target)
        WHERE d.amount IS DISTINCT FROM f.amount
           OR (d.step = 'open' AND d.line IS DISTINCT FROM f.statement_line)
        ORDER BY 1, 2 LIMIT 100
        """,
        *within.values,
    )
    return [
        LedgerFinding("move of a settlement", f"{row['id']} {row['step']}", row["stored"], row["computed"])
        for row in rows
    ]


async def _wrong_adoptions(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """What the wallet, losses and suspense have of each adopted settlement."""
    rows = await connection.fetch(
        f"""
        WITH moved AS (
            SELECT m.merchant_id, m.cause_id AS id,
                   sum(CASE 'wallet' WHEN m.target THEN m.amount WHEN m.source THEN -m.amount ELSE 0 END) AS wallet,
                   sum(CASE 'losses' WHEN m.target THEN m.amount WHEN m.source THEN -m.amount ELSE 0 END) AS losses,
                   sum(CASE 'suspense' WHEN m.target THEN m.amount WHEN m.source THEN -m.amount ELSE 0 END) AS suspense,
                   sum(CASE 'bank' WHEN m.target THEN m.amount WHEN m.source THEN -m.amount ELSE 0 END) AS bank,
                   sum(CASE 'in_settlement' WHEN m.target THEN m.amount WHEN m.source THEN -m.amount ELSE 0 END) AS rest
            FROM moves m JOIN settlements s ON s.merchant_id = m.merchant_id AND s.id = m.cause_id AND s.is_adopted
            WHERE {within.holds("m.merchant_id", "m.cause_id")} GROUP BY 1, 2
        )
        SELECT s.id, checked.* FROM settlements s LEFT JOIN moved m ON m.merchant_id = s.merchant_id AND m.id = s.id
        CROSS JOIN LATERAL (VALUES
            ('wallet', m.wallet, CASE s.status WHEN 'RETURNED' THEN 0 ELSE s.owed + s.borne - s.amount END),
            ('losses', m.losses, CASE s.status WHEN 'RETURNED' THEN 0 ELSE -s.borne END),
            ('suspense', m.suspense, CASE s.status WHEN 'RETURNED' THEN 0 ELSE -s.owed END),
            ('bank', m.bank, CASE s.status WHEN 'RETURNED' THEN 0 ELSE s.amount END),
            ('in settlement', m.rest, 0)
        ) AS checked (what, stored, computed)
        WHERE s.is_adopted AND checked.stored IS DISTINCT FROM checked.computed
          AND {within.holds("s.merchant_id", "s.id")}
        ORDER BY 1, 2 LIMIT 100
        """,
        *within.values,
    )
    return [
        LedgerFinding(
            f"{row['what']} of an adopted settlement",
            row["id"],
            None if row["stored"] is None else int(row["stored"]),
            int(row["computed"]),
        )
        for row in rows
    ]


async def _wrong_events(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Each completion and each return has one event, as far back as events are kept."""
    rows = await connection.fetch(
        f"""
        WITH due AS (
            SELECT merchant_id, id, 'settlement.completed' AS event, completed_at AS at FROM settlements
            WHERE completed_at IS NOT NULL
            UNION ALL
            SELECT merchant_id, id, 'settlement.returned', returned_at FROM settlements WHERE returned_at IS NOT NULL
        )
        SELECT coalesce(d.id, e.settlement_id) AS id, coalesce(d.event, e.event) AS event, e.id IS NULL AS is_lost
        FROM due d FULL JOIN settlement_events e
             ON e.merchant_id = d.merchant_id AND e.settlement_id = d.id AND e.event = d.event
        LEFT JOIN feeds f ON f.merchant_id = coalesce(d.merchant_id, e.merchant_id)
        WHERE (d.id IS NULL OR e.id IS NULL)
          AND (f.pruned_before IS NULL OR coalesce(d.at, e.created_at) >= f.pruned_before)
          AND {within.holds("coalesce(d.merchant_id, e.merchant_id)", "coalesce(d.id, e.settlement_id)")}
        ORDER BY 1, 2 LIMIT 100
        """,
        *within.values,
    )
    return [
        LedgerFinding(
            f"{row['event']} {'was never told' if row['is_lost'] else 'was told and is not true'}",
            row["id"],
            None,
            None,
        )
        for row in rows
    ]

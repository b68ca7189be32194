"""Compares corrections, resolutions, debts and their events with the ledger.

Written out in SQL by hand, independent of `correction_moves.py`, so that a mistake there is found. It only reads.
"""

from malipo.db import Conn
from malipo.db.key_range import EVERYTHING, KeyRange
from malipo.ledger.check import LedgerFinding

# Adopted settlements have such moves too: `ledger/check_settlements.py`.
_OF_PAYMENTS = "left(cause_id, 4) <> 'stl_'"


def _moved(within: KeyRange) -> str:
    """The amounts that corrections have moved for each payment, by account."""
    return f"""
    SELECT merchant_id, cause_id AS id, max(ordinal) AS last, count(DISTINCT ordinal) AS steps,
           sum(CASE 'float' WHEN target THEN amount WHEN source THEN -amount ELSE 0 END) AS float,
           sum(CASE 'wallet' WHEN target THEN amount WHEN source THEN -amount ELSE 0 END) AS wallet,
           sum(CASE 'losses' WHEN target THEN amount WHEN source THEN -amount ELSE 0 END) AS losses,
           sum(CASE 'fees' WHEN target THEN amount WHEN source THEN -amount ELSE 0 END) AS fees,
           count(*) FILTER (WHERE 'suspense' NOT IN (source, target)
                               OR step = 'contradiction' AND move_number = 1 AND 'float' NOT IN (source, target))
               AS strange
    FROM moves WHERE step IN ('contradiction', 'resolution') AND {_OF_PAYMENTS}
      AND {within.holds("merchant_id", "cause_id")} GROUP BY 1, 2
    """


def _expected(within: KeyRange) -> str:
    """The amounts that they must have moved, by the payment's status, the latest report and the decisions."""
    return f"""
    SELECT s.*, s.full_change * s.turn - s.credited - s.borne AS due FROM (
        SELECT c.*, t.amount, t.fee, t.type, t.status,
               c.is_paid::int - (t.status = 'COMPLETED')::int AS turn,
               c.is_fee_paid::int - (t.status = 'COMPLETED')::int AS fee_turn,
               CASE t.type WHEN 'COLLECTION' THEN t.amount - t.fee ELSE -(t.amount + t.fee) END AS full_change
        FROM corrections c LEFT JOIN transactions t ON t.merchant_id = c.merchant_id AND t.id = c.transaction_id
        WHERE {within.holds("c.merchant_id", "c.transaction_id")}
    ) s
    """


async def check(connection: Conn, within: KeyRange = EVERYTHING) -> list[LedgerFinding]:
    """Compare the corrections of payments in a range. `wrong_debts` compares the debts of wallets."""
    return [
        *await _wrong_moves(connection, within),
        *await _wrong_states(connection, within),
        *await _wrong_resolutions(connection, within),
        *await _wrong_events(connection, within),
    ]


async def _wrong_moves(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    rows = await connection.fetch(
        f"""
        WITH expected AS ({_expected(within)}), moved AS ({_moved(within)})
        SELECT coalesce(e.transaction_id, m.id) AS id, checked.*
        FROM expected e FULL JOIN moved m ON m.merchant_id = e.merchant_id AND m.id = e.transaction_id
        CROSS JOIN LATERAL (VALUES
            ('float', m.float, e.turn * CASE e.type WHEN 'COLLECTION' THEN -e.amount ELSE e.amount END),
            ('wallet', m.wallet, e.credited),
            ('losses', m.losses, e.borne),
            ('fees', m.fees, e.fee * e.fee_turn),
            ('number of steps', m.steps, e.ordinal),
            ('latest step', m.last, e.ordinal),
            ('moves that are not of a correction', m.strange, 0)
        ) AS checked (what, stored, computed)
        WHERE checked.stored IS DISTINCT FROM checked.computed
        ORDER BY 1, 2 LIMIT 100
        """,
        *within.values,
    )
    return [
        LedgerFinding(f"{row['what']} of a correction", row["id"], _whole(row["stored"]), _whole(row["computed"]))
        for row in rows
    ]


async def _wrong_states(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Corrections whose columns do not agree with each other, or with the payment."""
    rows = await connection.fetch(
        f"""
        SELECT transaction_id AS id, owed AS stored, greatest(-due, 0) AS computed FROM ({_expected(within)}) e
        WHERE status IS NULL OR status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')
           OR owed <> greatest(-due, 0) OR is_open <> (due <> 0) OR (due = 0 AND is_fee_paid <> is_paid)
        ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding("correction", row["id"], _whole(row["stored"]), _whole(row["computed"])) for row in rows]


async def _wrong_resolutions(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """The moves of resolutions, compared with the resolutions."""
    rows = await connection.fetch(
        f"""
        WITH moved AS (
            SELECT merchant_id, cause_id AS id, ordinal, bool_or(step = 'resolution') AS is_resolution,
                   sum(CASE 'wallet' WHEN target THEN amount WHEN source THEN -amount ELSE 0 END) AS credited,
                   sum(CASE 'losses' WHEN target THEN amount WHEN source THEN -amount ELSE 0 END) AS borne
            FROM moves
            WHERE step IN ('contradiction', 'resolution') AND {_OF_PAYMENTS}
              AND {within.holds("merchant_id", "cause_id")} GROUP BY 1, 2, 3
        ), decided AS (
            SELECT merchant_id, transaction_id AS id, ordinal, credited, borne FROM resolutions
            WHERE is_approved AND is_of_contradiction AND ordinal IS NOT NULL
              AND {within.holds("merchant_id", "transaction_id")}
        )
        SELECT coalesce(m.id, d.id) AS id, m.credited + m.borne AS stored, d.credited + d.borne AS computed
        FROM decided d FULL JOIN moved m USING (merchant_id, id, ordinal)
        WHERE (d.ordinal IS NOT NULL OR m.is_resolution)
          AND (d.credited, d.borne) IS DISTINCT FROM (m.credited, m.borne)
        ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding("resolution", row["id"], _whole(row["stored"]), _whole(row["computed"])) for row in rows]


async def wrong_debts(connection: Conn, within: KeyRange = EVERYTHING) -> list[LedgerFinding]:
    """Debts of wallets that are not the sum of the debts of their payments and settlements."""
    rows = await connection.fetch(
        f"""
        SELECT merchant_id, w.owed AS stored, coalesce(c.owed, 0) AS computed
        FROM wallets w FULL JOIN (
            SELECT merchant_id, sum(owed) AS owed FROM (
                SELECT merchant_id, owed FROM corrections
                UNION ALL SELECT merchant_id, owed FROM settlements WHERE owed > 0) AS debts GROUP BY 1) c
            USING (merchant_id)
        WHERE w.owed IS DISTINCT FROM coalesce(c.owed, 0) AND {within.holds("merchant_id")} ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding("owed", row["merchant_id"], row["stored"], _whole(row["computed"])) for row in rows]


async def _wrong_events(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Every correction that merchants are notified of has one event. Events that were pruned cannot be counted."""
    rows = await connection.fetch(
        f"""
        WITH corrected AS (
            SELECT merchant_id, transaction_id, count(*) AS events, max(ordinal) AS last
            FROM events WHERE event LIKE '%.corrected' AND {within.holds("merchant_id", "transaction_id")} GROUP BY 1, 2
        )
        SELECT coalesce(c.transaction_id, e.transaction_id) AS id, coalesce(e.events, 0) AS stored, c.told AS computed
        FROM (SELECT * FROM corrections WHERE {within.holds("merchant_id", "transaction_id")}) c
        FULL JOIN corrected e USING (merchant_id, transaction_id) LEFT JOIN feeds f USING (merchant_id)
        WHERE c.told IS NULL OR coalesce(e.last, 0) > c.told OR coalesce(e.events, 0) > c.told
           OR (f.pruned_before IS NULL AND coalesce(e.events, 0) < c.told)
           OR (c.told > 0) <> (c.latest IS NOT NULL)
        ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding("corrections told", row["id"], row["stored"], _whole(row["computed"])) for row in rows]


def _whole(amount: object) -> int | None:
    """A sum, which comes as a decimal, as an int."""
    return None if amount is None else int(amount)  # type: ignore[call-overload]

"""Holds every transaction against the moves and events its status calls for. It reads, and never mends.

Most of it is proved by one look at each table (`proof.py`); only where something differs, joins say what. The
expectations are in `expected.py`.
"""

from malipo.db import Conn
from malipo.ledger.audit import Finding
from malipo.payments import counts_audit, proof
from malipo.payments.expected import DUE_EVENTS, DUE_MOVES, FOUND_EVENTS, FOUND_MOVES

_EXPECTED_MOVES = " UNION ALL ".join(f"SELECT {row} FROM transactions t WHERE {due}" for row, due in DUE_MOVES)
_EXPECTED_EVENTS = " UNION ALL ".join(
    f"SELECT {row}, {at} FROM transactions t WHERE {due}" for row, at, due in DUE_EVENTS
)

# What clears a contradiction: if the merchant saw the truth, the network's float is put back; else the wallet follows.
_EXPECTED_RESOLUTIONS = """
    WITH said AS (
        SELECT t.merchant_id, t.id, t.amount, t.fee, t.type = 'COLLECTION' AS is_in,
               t.status = 'COMPLETED' AS was_completed, r.outcome = 'completed' AS is_completed
        FROM resolutions r JOIN transactions t ON t.merchant_id = r.merchant_id AND t.id = r.transaction_id
        WHERE r.is_approved AND r.is_of_contradiction
    )
    SELECT merchant_id, id, 1 AS line,
           CASE WHEN is_in <> was_completed THEN 'suspense' ELSE 'float' END AS source,
           CASE WHEN is_in <> was_completed THEN 'float' ELSE 'suspense' END AS target, amount
    FROM said WHERE was_completed = is_completed
    UNION ALL
    SELECT merchant_id, id, 1,
           CASE WHEN is_in = is_completed THEN 'suspense' ELSE 'wallet' END,
           CASE WHEN is_in = is_completed THEN 'wallet' ELSE 'suspense' END,
           CASE WHEN is_in THEN amount - fee ELSE amount + fee END
    FROM said WHERE was_completed <> is_completed
    UNION ALL
    SELECT merchant_id, id, 2,
           CASE WHEN is_completed THEN 'suspense' ELSE 'fees' END,
           CASE WHEN is_completed THEN 'fees' ELSE 'suspense' END, fee
    FROM said WHERE was_completed <> is_completed AND fee > 0
"""


async def check(connection: Conn) -> list[Finding]:
    differs = await proof.differences(connection)
    return [
        *(await _wrong_moves(connection) if "moves" in differs else []),
        *await _wrong_channels(
            connection, "true" if "moves" in differs else "m.step IN ('contradiction', 'resolution')"
        ),
        *(await _wrong_events(connection) if "events" in differs else []),
        *await _wrong_feeds(connection),
        *await _lost_keys(connection),
        *await _idle(connection),
        *await _wrong_contradictions(connection),
        *await _wrong_resolutions(connection),
        *await counts_audit.check(connection, differs),
    ]


async def _wrong_moves(connection: Conn) -> list[Finding]:
    rows = await connection.fetch(
        f"""
        WITH expected (merchant_id, id, step, line, source, target, amount) AS ({_EXPECTED_MOVES}),
             found AS ({FOUND_MOVES})
        SELECT coalesce(e.id, f.id) AS id, coalesce(e.step, f.step) AS step, coalesce(e.line, f.line) AS line,
               e.amount AS computed, f.amount AS stored
        FROM expected e FULL JOIN found f USING (merchant_id, id, step, line)
        WHERE (e.source, e.target, e.amount) IS DISTINCT FROM (f.source, f.target, f.amount)
        ORDER BY 1, 2, 3 LIMIT 100
        """
    )
    return [
        Finding("move", f"{row['id']} {row['step']} line {row['line']}", row["stored"], row["computed"]) for row in rows
    ]


async def _wrong_channels(connection: Conn, which: str) -> list[Finding]:
    rows = await connection.fetch(
        f"""
        SELECT m.cause_id, m.amount
        FROM moves m JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.cause_id
        WHERE {which} AND m.channel <> t.channel ORDER BY 1 LIMIT 100
        """
    )
    return [Finding("move on another channel's float", row["cause_id"], row["amount"], None) for row in rows]


async def _wrong_events(connection: Conn) -> list[Finding]:
    """Events held against transactions, as far back as events are kept."""
    rows = await connection.fetch(
        f"""
        WITH expected (merchant_id, id, event, at) AS ({_EXPECTED_EVENTS}), found AS ({FOUND_EVENTS})
        SELECT id, event, f.at IS NULL AS is_lost
        FROM expected e FULL JOIN found f USING (merchant_id, id, event)
        LEFT JOIN feeds USING (merchant_id)
        WHERE (e.at IS NULL OR f.at IS NULL)
          AND (pruned_before IS NULL OR coalesce(e.at, f.at) >= pruned_before)
        ORDER BY 1, 2 LIMIT 100
        """
    )
    return [
        Finding(
            f"{row['event']} {'was never told' if row['is_lost'] else 'was told and is not true'}",
            row["id"],
            None,
            None,
        )
        for row in rows
    ]


async def _wrong_feeds(connection: Conn) -> list[Finding]:
    """Every place of a feed that was given and is kept has its event: no gap, and nothing beyond the end."""
    rows = await connection.fetch(
        """
        SELECT merchant_id, coalesce(f.last - f.pruned, 0) AS computed, coalesce(e.size, 0) AS stored
        FROM feeds f FULL JOIN (
            SELECT merchant_id, count(*) AS size, min(number) AS first, max(number) AS last
            FROM events WHERE number IS NOT NULL GROUP BY merchant_id
        ) e USING (merchant_id)
        WHERE coalesce(e.size, 0) <> coalesce(f.last - f.pruned, 0)
           OR e.first <> f.pruned + 1 OR e.last <> f.last
        ORDER BY 1 LIMIT 100
        """
    )
    return [Finding("events in the feed", row["merchant_id"], row["stored"], row["computed"]) for row in rows]


async def _lost_keys(connection: Conn) -> list[Finding]:
    rows = await connection.fetch(
        """
        SELECT k.transaction_id
        FROM idempotency_keys k
        LEFT JOIN transactions t ON t.merchant_id = k.merchant_id AND t.id = k.transaction_id
        WHERE t.id IS NULL ORDER BY 1 LIMIT 100
        """
    )
    return [Finding("idempotency key without its transaction", row["transaction_id"], None, None) for row in rows]


async def _idle(connection: Conn) -> list[Finding]:
    """Open payments that no worker would ever take up again."""
    rows = await connection.fetch(
        """
        SELECT t.id, t.amount FROM transactions t
        LEFT JOIN dispatches d ON d.merchant_id = t.merchant_id AND d.transaction_id = t.id
        WHERE t.status IN ('PENDING', 'PROCESSING') AND d.transaction_id IS NULL ORDER BY 1 LIMIT 100
        """
    )
    return [Finding("open payment that nobody works on", row["id"], row["amount"], row["amount"]) for row in rows]


async def _wrong_contradictions(connection: Conn) -> list[Finding]:
    """Money in suspense, held against the payment whose network took back its word."""
    rows = await connection.fetch(
        """
        SELECT m.cause_id, m.amount AS stored, t.amount AS computed
        FROM moves m LEFT JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.cause_id
        WHERE m.step = 'contradiction' AND (m.line, m.source, m.target, m.amount) IS DISTINCT FROM (
            1,
            CASE WHEN (t.type = 'COLLECTION') = (t.status <> 'COMPLETED') THEN 'float' ELSE 'suspense' END,
            CASE WHEN (t.type = 'COLLECTION') = (t.status <> 'COMPLETED') THEN 'suspense' ELSE 'float' END,
            CASE WHEN t.status IN ('COMPLETED', 'FAILED', 'CANCELLED') THEN t.amount END)
        ORDER BY 1 LIMIT 100
        """
    )
    return [Finding("contradiction", row["cause_id"], row["stored"], row["computed"]) for row in rows]


async def _wrong_resolutions(connection: Conn) -> list[Finding]:
    """What was cleared out of suspense, held against what operators have said became of the payment."""
    rows = await connection.fetch(
        f"""
        WITH expected AS ({_EXPECTED_RESOLUTIONS}),
             found AS (SELECT merchant_id, cause_id AS id, line, source, target, amount
                       FROM moves WHERE step = 'resolution')
        SELECT coalesce(e.id, f.id) AS id, coalesce(e.line, f.line) AS line, e.amount AS computed, f.amount AS stored
        FROM expected e FULL JOIN found f USING (merchant_id, id, line)
        WHERE (e.source, e.target, e.amount) IS DISTINCT FROM (f.source, f.target, f.amount)
           OR NOT EXISTS (SELECT FROM moves c WHERE c.merchant_id = f.merchant_id AND c.cause_id = f.id
                                                AND c.step = 'contradiction')
        ORDER BY 1, 2 LIMIT 100
        """
    )
    return [Finding("resolution", f"{row['id']} line {row['line']}", row["stored"], row["computed"]) for row in rows]

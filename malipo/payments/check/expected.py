"""SQL of the rows that the ledger, the feed and the rollups must contain for each transaction.

It is written by hand, independent of `status_effects.py` and `rollups/categories.py`, so that the checks find a mistake
there. Each query takes a range of keys: all payments, or one piece.
"""

from malipo.db.key_range import KeyRange
from malipo.outbox.event import IS_END
from malipo.payments.rollups.categories import TREE

# Step, number of the move, source, target, amount, and when it is due.
_DUE_MOVES = (
    ("open", 1, "wallet", "in_flight", "t.amount + t.fee", "t.type = 'DISBURSEMENT'"),
    (
        "end",
        1,
        "in_flight",
        "wallet",
        "t.amount + t.fee",
        "t.type = 'DISBURSEMENT' AND t.status IN ('FAILED', 'CANCELLED')",
    ),
    ("end", 1, "in_flight", "float", "t.amount", "t.type = 'DISBURSEMENT' AND t.status = 'COMPLETED'"),
    ("end", 2, "in_flight", "fees", "t.fee", "t.type = 'DISBURSEMENT' AND t.status = 'COMPLETED' AND t.fee > 0"),
    ("end", 1, "float", "wallet", "t.amount - t.fee", "t.type = 'COLLECTION' AND t.status = 'COMPLETED'"),
    ("end", 2, "float", "fees", "t.fee", "t.type = 'COLLECTION' AND t.status = 'COMPLETED' AND t.fee > 0"),
)
# Each due move as a row of merchant_id, id, step, move_number, source, target, amount and channel, with when it is due.
DUE_MOVES = [
    (
        f"t.merchant_id, t.id, '{step}'::text, {move_number}::smallint, '{source}'::text, '{target}'::text, {amount}, "
        + ("t.channel" if "float" in (source, target) else "NULL::text"),
        condition,
    )
    for step, move_number, source, target, amount, condition in _DUE_MOVES
]


def found_moves(within: KeyRange) -> str:
    return f"""
        SELECT merchant_id, cause_id AS id, step, move_number, source, target, amount, channel
        FROM moves WHERE step IN ('open', 'end') AND 'in_settlement' NOT IN (source, target)
          AND {within.holds("merchant_id", "cause_id")}
    """


# Each due event as a row of merchant_id, id and event, with its time and when it is due.
DUE_EVENTS = [
    ("t.merchant_id, t.id, 'payment.pending'::text", "t.created_at", "t.type = 'COLLECTION'"),
    (
        "t.merchant_id, t.id, CASE t.type WHEN 'COLLECTION' THEN 'payment.' ELSE 'payout.' END || lower(t.status)",
        "t.ended_at",
        "t.ended_at IS NOT NULL",
    ),
]


def found_events(within: KeyRange) -> str:
    return f"""
        SELECT merchant_id, transaction_id AS id, event, created_at AS at FROM events
        WHERE event NOT LIKE '%.corrected' AND event <> 'payment.refunded'
          AND {within.holds("merchant_id", "transaction_id")}
    """


def unnumbered(within: KeyRange) -> str:
    """Payments whose end has no feed number yet."""
    return _of_transactions(_unnumbered_ends(), within)


def uncounted(within: KeyRange) -> str:
    """Payments whose end has no feed number yet, or one that the counter has not reached."""
    behind = f"""
        {_unnumbered_ends()}
        UNION ALL
        SELECT e.merchant_id, e.transaction_id
        FROM feeds f LEFT JOIN rollup_positions m ON m.merchant_id = f.merchant_id AND m.rollup = 'payments'
        CROSS JOIN LATERAL generate_series(coalesce(m.position, 0) + 1, f.last_number) AS place
        JOIN events e ON e.merchant_id = f.merchant_id AND e.feed_number = place
        WHERE e.{IS_END} AND {within.touches("f.merchant_id")}
    """
    return _of_transactions(behind, within)


def _unnumbered_ends() -> str:
    return f"SELECT merchant_id, transaction_id FROM events WHERE feed_number IS NULL AND {IS_END}"


def _of_transactions(ends: str, within: KeyRange) -> str:
    return f"""
        SELECT t.* FROM ({ends}) u JOIN transactions t ON t.merchant_id = u.merchant_id AND t.id = u.transaction_id
        WHERE {within.holds("t.merchant_id", "t.id")}
    """


def counted(within: KeyRange) -> str:
    """All ended payments with 1, and the uncounted ones again with -1: the sum is the number that must be counted. So
    the few uncounted payments need no join with all payments.
    """
    return f"""
        SELECT merchant_id, id, type, channel, status, created_at, search_text, 1 AS count
        FROM transactions WHERE ended_at IS NOT NULL AND {within.holds("merchant_id", "id")}
        UNION ALL
        SELECT merchant_id, id, type, channel, status, created_at, search_text, -1
        FROM ({uncounted(within)}) AS uncounted
    """


CELL = """
    6 * CASE channel WHEN 'MPESA' THEN 0 WHEN 'TIGO_PESA' THEN 1 WHEN 'AIRTEL_MONEY' THEN 2 WHEN 'HALOPESA' THEN 3 END
    + CASE type WHEN 'COLLECTION' THEN 0 WHEN 'DISBURSEMENT' THEN 3 END
    + CASE status WHEN 'COMPLETED' THEN 1 WHEN 'FAILED' THEN 2 WHEN 'CANCELLED' THEN 3 END
"""
# Times are kept in whole milliseconds.
LEAF = f"round(date_part('epoch', created_at) * 1000)::bigint >> {TREE.bits(0)}"
# The day of an end in Dar es Salaam, where the clocks are never changed.
DAY = "(ended_at AT TIME ZONE INTERVAL '3 hours')::date"


def found_in_search(within: KeyRange) -> str:
    return f"""
        SELECT merchant_id, id, search_text FROM search_index
        WHERE cardinality(ngrams) > 0 AND {within.holds("merchant_id", "id")}
    """

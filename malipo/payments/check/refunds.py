"""Compares refunds with their payouts, with the collections that they return, and with their events.

Written out in SQL by hand, independent of `refunds/refundable.py`, so that a mistake there is found. It only reads.
"""

from collections.abc import Collection

from malipo.db import Conn
from malipo.db.key_range import EVERYTHING, KeyRange
from malipo.ledger.check import LedgerFinding


def found_refunds(within: KeyRange) -> str:
    return f"""
        SELECT merchant_id, collection_id AS refund_of, refund_id AS id FROM refunds
        WHERE {within.holds("merchant_id", "refund_id")}
    """


async def check(connection: Conn, differs: Collection[str], within: KeyRange = EVERYTHING) -> list[LedgerFinding]:
    """Compare the refunds in a range. `differs` says whether the rows of refunds differ from the payouts."""
    return [
        *(await _wrong_places(connection, within) if "refunds" in differs else []),
        *await _wrong_collections(connection, within),
        *await _wrong_sums(connection, within),
        *await _wrong_events(connection, within),
        *await _strange_events(connection, within),
    ]


async def _wrong_places(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Payouts that return a collection and have no row among its refunds, and rows without such a payout."""
    rows = await connection.fetch(
        f"""
        SELECT id FROM (
            SELECT merchant_id, refund_of, id FROM transactions
            WHERE refund_of IS NOT NULL AND {within.holds("merchant_id", "id")}) t
        FULL JOIN ({found_refunds(within)}) r USING (merchant_id, id)
        WHERE t.refund_of IS DISTINCT FROM r.refund_of ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding("refund without its place, or in another", row["id"], None, None) for row in rows]


async def _wrong_collections(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Refunds that do not go to the customer who paid, on the same channel."""
    rows = await connection.fetch(
        f"""
        SELECT r.refund_id AS id, p.amount AS stored, c.amount AS computed
        FROM refunds r
        LEFT JOIN transactions p ON p.merchant_id = r.merchant_id AND p.id = r.refund_id
        LEFT JOIN transactions c ON c.merchant_id = r.merchant_id AND c.id = r.collection_id
        WHERE (c.type, p.type) IS DISTINCT FROM ('COLLECTION', 'DISBURSEMENT')
          AND {within.holds("r.merchant_id", "r.refund_id")}
           OR (c.channel, c.phone) IS DISTINCT FROM (p.channel, p.phone)
          AND {within.holds("r.merchant_id", "r.refund_id")}
        ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding("refund of another payment", row["id"], row["stored"], row["computed"]) for row in rows]


# A report within this time of a refund's creation counts as later, because clocks of hosts differ.
_CLOCKS_DIFFER = "interval '2 minutes'"
# Operators see that the network has reversed its report, or have decided.
_IS_SHOWN = """
    (k.is_open OR (k.merchant_id, k.transaction_id) IN (
        SELECT merchant_id, transaction_id FROM resolutions WHERE is_approved AND is_of_contradiction))
"""


def _reported_at(transaction: str) -> str:
    """When the network, or operators, last reported another outcome of a payment that has a correction."""
    return f"""(SELECT max(m.created_at) FROM moves m WHERE m.merchant_id = {transaction}.merchant_id
                AND m.cause_id = {transaction}.id AND m.step = 'contradiction')"""


def _counted(within: KeyRange) -> str:
    """Refunds that by the latest report were paid or are under way, and since when that is known."""
    return f"""
        SELECT r.merchant_id, r.collection_id, p.id, p.amount, p.created_at, p.ended_at,
               coalesce(k.is_paid AND {_IS_SHOWN}, false) AS is_shown,
               coalesce(CASE WHEN k.is_paid THEN {_reported_at("p")} END, p.created_at) AS known_at
        FROM refunds r
        JOIN transactions p ON p.merchant_id = r.merchant_id AND p.id = r.refund_id
        LEFT JOIN corrections k ON k.merchant_id = p.merchant_id AND k.transaction_id = p.id
        WHERE (coalesce(k.is_paid, p.status = 'COMPLETED') OR p.ended_at IS NULL)
          AND (r.merchant_id, r.collection_id) IN (
              SELECT merchant_id, collection_id FROM refunds WHERE {within.holds("merchant_id", "refund_id")})
    """


def _collected(within: KeyRange) -> str:
    """The amount collected by the latest report: nothing, from the report on, if the network has taken it back."""
    return f"""
        SELECT c.merchant_id, c.id, c.amount, had.money AS has_money, coalesce(NOT had.money AND {_IS_SHOWN}, false)
               AS is_shown, CASE WHEN NOT k.is_paid THEN {_reported_at("c")} END AS gone_at
        FROM transactions c
        LEFT JOIN corrections k ON k.merchant_id = c.merchant_id AND k.transaction_id = c.id
        CROSS JOIN LATERAL (SELECT coalesce(k.is_paid, c.status = 'COMPLETED') AS money) had
        WHERE (c.merchant_id, c.id) IN (
            SELECT merchant_id, collection_id FROM refunds WHERE {within.holds("merchant_id", "refund_id")})
    """


async def _wrong_sums(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Collections of which more was refunded than collected, or with two refunds under way.

    The latest report counts, not the status. A report after the end can make the refunds exceed the collection. That is
    no finding if operators see that contradiction, or have decided about it, and nothing was refunded since. A refund
    created after the report is a finding in any case.
    """
    rows = await connection.fetch(
        f"""
        WITH counted AS ({_counted(within)}), collected AS ({_collected(within)})
        SELECT c.id, CASE WHEN c.has_money THEN c.amount ELSE 0 END AS computed, sum(p.amount)::bigint AS stored
        FROM counted p
        JOIN collected c ON c.merchant_id = p.merchant_id AND c.id = p.collection_id
        CROSS JOIN LATERAL (
            SELECT coalesce(sum(q.amount), 0) AS amount FROM counted q
            WHERE q.merchant_id = p.merchant_id AND q.collection_id = p.collection_id AND q.id <> p.id
              AND q.known_at + {_CLOCKS_DIFFER} < p.created_at) before
        GROUP BY c.merchant_id, c.id, c.amount, c.has_money, c.is_shown
        HAVING sum(p.amount) FILTER (WHERE NOT p.is_shown) > c.amount
            OR count(*) FILTER (WHERE p.ended_at IS NULL) > 1
            OR bool_or(p.amount + before.amount > c.amount)
            OR NOT c.has_money AND NOT c.is_shown
            OR bool_or(c.gone_at + {_CLOCKS_DIFFER} < p.created_at)
        ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [
        LedgerFinding("refunded beyond the payment, or twice", row["id"], row["stored"], row["computed"])
        for row in rows
    ]


async def _wrong_events(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Paid refunds, by their status or by a later report, without exactly one event. Pruned events are not missing."""
    rows = await connection.fetch(
        f"""
        SELECT r.refund_id AS id, e.id IS NULL AS is_lost
        FROM refunds r
        JOIN transactions p ON p.merchant_id = r.merchant_id AND p.id = r.refund_id
        LEFT JOIN events e ON e.merchant_id = r.merchant_id AND e.transaction_id = r.collection_id
             AND e.event = 'payment.refunded' AND e.ordinal = r.ordinal
        LEFT JOIN feeds f ON f.merchant_id = r.merchant_id
        CROSS JOIN LATERAL (
            SELECT p.status = 'COMPLETED' OR EXISTS (
                SELECT FROM corrections k WHERE k.merchant_id = r.merchant_id AND k.transaction_id = r.refund_id) AS due
        ) AS expected
        WHERE {within.holds("r.merchant_id", "r.refund_id")}
          AND (e.id IS NOT NULL AND NOT expected.due OR e.id IS NULL AND expected.due AND f.pruned_before IS NULL)
        ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [
        LedgerFinding(
            f"payment.refunded {'was never told' if row['is_lost'] else 'was told and is not true'}",
            row["id"],
            None,
            None,
        )
        for row in rows
    ]


async def _strange_events(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    rows = await connection.fetch(
        f"""
        SELECT e.transaction_id AS id FROM events e
        LEFT JOIN refunds r ON r.merchant_id = e.merchant_id AND r.collection_id = e.transaction_id
             AND r.ordinal = e.ordinal
        WHERE e.event = 'payment.refunded' AND r.refund_id IS NULL
          AND {within.holds("e.merchant_id", "e.transaction_id")} ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding("payment.refunded of no refund", row["id"], None, None) for row in rows]

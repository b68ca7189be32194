"""The SQL of queued fees and sweeps that may be payments."""

from collections.abc import Sequence
from datetime import date

import msgspec

from malipo import clock
from malipo.db import Tx
from malipo.networks.connector import Channel
from malipo.reconciliation.matching.store.line_queue import UnbookedLine
from malipo.reconciliation.matching.store.reported_by_network import SIGNED, keys_of_sql
from malipo.reconciliation.matching.store.summed_lines import IS_SUMMED


class SuspectLine(UnbookedLine, frozen=True, kw_only=True):
    """A line that would be booked by its words, and whose receipt no line of a payment has."""

    kind: str
    day: date
    key: str
    phone: str
    is_charge: bool  # it names the key of a paid payment, with another amount


# The channels whose payments an account's statement may have: its own; all of them for an aggregator's account.
ACCOUNTS = """
    accounts AS MATERIALIZED (
        SELECT channel, account, bool_or(profile = ANY($1) OR account = ANY($2)) AS is_shared
        FROM statement_files WHERE withdrawn_at IS NULL GROUP BY 1, 2
    )
"""


# Whether another line with the receipt of the line `l` is a payment's: then `l` is a charge for that payment.
HAS_PAYMENT_LINE = """
    (l.receipt <> '' AND EXISTS (
        SELECT FROM accounts a JOIN statement_lines p ON p.channel = a.channel AND p.account = a.account
        WHERE a.channel = l.channel AND p.receipt = l.receipt AND p.id <> l.id AND p.kind = 'money'))
"""


# Whether the payment `t` cannot be the line's: it has a line, or is an undone adoption.
HAS_LINE = """
    (EXISTS (SELECT FROM statement_matches s
             WHERE s.merchant_id = t.merchant_id AND s.transaction_id = t.id AND s.role = 'payment')
     OR EXISTS (SELECT FROM adopted_payments d
                WHERE d.merchant_id = t.merchant_id AND d.transaction_id = t.id AND d.undone_at IS NOT NULL))
"""


_DAY_OF_LINE = clock.day_sql("l.moved_at")


async def find_suspects(tx: Tx, *, layouts: Sequence[str], accounts: Sequence[str]) -> list[SuspectLine]:
    """Lines in the queue that would be booked by their words, and name a key or a phone number."""
    rows = await tx.fetch(
        f"""
        WITH {ACCOUNTS}
        SELECT l.id AS line_id, l.channel, l.account, l.kind, l.amount, {_DAY_OF_LINE} AS day, l.key, l.phone,
               l.kind = 'fee' AND EXISTS (
                   SELECT FROM accounts a CROSS JOIN unnest(CASE WHEN a.is_shared THEN $3::text[]
                                                            ELSE ARRAY[a.channel] END) AS c (channel)
                   CROSS JOIN LATERAL ({keys_of_sql("l.key")}) AS k (key)
                   JOIN transactions t ON t.channel = c.channel AND t.network_key = k.key
                   LEFT JOIN corrections r ON r.merchant_id = t.merchant_id AND r.transaction_id = t.id
                   WHERE (a.channel, a.account) = (l.channel, l.account) AND l.key <> ''
                     AND (coalesce(r.is_paid, t.status = 'COMPLETED') OR EXISTS (
                         SELECT FROM statement_matches m WHERE m.merchant_id = t.merchant_id
                         AND m.transaction_id = t.id AND m.role = 'payment'))) AS is_charge
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        WHERE {IS_SUMMED} AND (l.key <> '' OR l.phone <> '') AND NOT {HAS_PAYMENT_LINE}
          AND NOT EXISTS (SELECT FROM statement_matches s WHERE s.line_id = l.id)
        ORDER BY l.id
        """,
        list(layouts),
        list(accounts),
        list(Channel),
    )
    return [msgspec.convert(dict(row), SuspectLine) for row in rows]


async def find_like_payments(
    tx: Tx,
    line_ids: Sequence[int],
    *,
    layouts: Sequence[str],
    accounts: Sequence[str],
    first: Sequence[str],
    last: Sequence[str],
) -> set[int]:
    """The lines with the number and the amount of a payment that is open, or that was paid and has neither a line nor a
    receipt."""
    rows = await tx.fetch(
        f"""
        WITH {ACCOUNTS}, suspect AS MATERIALIZED (
            SELECT l.id, l.amount, a.channel, a.is_shared,
                   '%' || regexp_replace(regexp_replace(l.phone, '^\\+', ''), '[*xX]+', '%') AS pattern
            FROM statement_lines l JOIN accounts a ON a.channel = l.channel AND a.account = l.account
            WHERE l.id = ANY($3) AND l.phone <> '' AND l.cents = 0
        )
        SELECT DISTINCT u.id FROM merchants m CROSS JOIN unnest($4::text[], $5::text[]) AS w (first, last)
        CROSS JOIN LATERAL (
            SELECT p.* FROM transactions p
            WHERE p.merchant_id = m.id AND p.id >= w.first AND p.id <= w.last AND p.network_key <> p.id
              AND (p.ended_at IS NULL OR p.status = 'COMPLETED' AND coalesce(p.provider_reference, '') = '')
        ) t
        JOIN suspect u ON {SIGNED} = u.amount AND (u.is_shared OR u.channel = t.channel) AND t.phone LIKE u.pattern
        WHERE NOT {HAS_LINE}
        """,
        list(layouts),
        list(accounts),
        list(line_ids),
        list(first),
        list(last),
    )
    return {row["id"] for row in rows}

"""The SQL of candidates: which payments each line in the queue may be of, by its receipt and by its key.

There is no index of receipts: payments of the days in question are read by their ids, merchant by merchant. All of it
happens inside the database, so that memory stays flat.
"""

from collections.abc import Sequence
from datetime import date

from malipo import clock
from malipo.db import Conn, Tx
from malipo.reconciliation.matching.store.reported_by_network import (
    SIGNED,
    is_key_added_sql,
    is_own_sql,
    is_receipt_reported_by_people_sql,
    keys_of_sql,
)
from malipo.reconciliation.matching.stronger_fits import stronger_fits_sql

_TABLE = """
    CREATE TEMPORARY TABLE candidates (
        line_id bigint, merchant_id text COLLATE "C", transaction_id text COLLATE "C", is_exact boolean,
        by_receipt boolean, by_key boolean
    ) ON COMMIT DROP
"""
# A customer's remark ("School fees") may look like a fee or a sweep. The words do not count if the amount and the
# direction are exactly the payment's, because a network's charge for the payment has another amount.
_MAY_BE = f"(u.kind = 'money' OR ({SIGNED} = u.amount AND u.cents = 0))"
# A line that names our key is about that payment, also if its amount differs. Reversals of a payment, and charges for a
# paid one, name the key too.
_MAY_BE_BY_KEY = f"(u.kind IN ('bank', 'other', 'sweep') OR u.kind = 'fee' AND t.status <> 'COMPLETED' OR {_MAY_BE})"
_CANDIDATES = f"""
    WITH unmatched AS MATERIALIZED (
        SELECT l.id, l.channel, l.receipt, l.amount, l.cents, l.kind,
               -- What an operator's copy adds was rejected. The line is the network's own all the same.
               CASE WHEN o.rejected_in IS NOT NULL AND {is_key_added_sql("l")} THEN '' ELSE l.key END AS key,
               CASE WHEN f.profile = ANY($1) OR f.account = ANY($5) THEN $2::text[]
                    ELSE ARRAY[l.channel] END AS channels
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        JOIN statement_files f ON f.id = l.file_id
        WHERE (o.rejected_in IS NULL OR {is_own_sql("l")} OR {is_key_added_sql("l")}) AND NOT EXISTS (
            -- Operators have undone what was decided about it: only they decide again.
            SELECT FROM reconciliation_exceptions e JOIN exception_resolutions r ON r.exception_id = e.id
            WHERE e.line_id = l.id AND r.undone_by IS NOT NULL)
    ), found AS (
        SELECT u.id AS line_id, t.merchant_id, t.id AS transaction_id, {SIGNED} = u.amount AND u.cents = 0 AS is_exact,
               false AS by_receipt
        FROM unmatched u CROSS JOIN LATERAL unnest(u.channels) AS c (channel)
        CROSS JOIN LATERAL ({keys_of_sql("u.key")}) AS k (key)
        JOIN transactions t ON t.channel = c.channel AND t.network_key = k.key
        WHERE u.key <> '' AND {_MAY_BE_BY_KEY}
        UNION ALL
        SELECT u.id, t.merchant_id, t.id, {SIGNED} = u.amount AND u.cents = 0, true
        FROM merchants m CROSS JOIN unnest($3::text[], $4::text[]) AS w (first, last)
        CROSS JOIN LATERAL (
            SELECT p.* FROM transactions p
            WHERE p.merchant_id = m.id AND p.id >= w.first AND p.id <= w.last AND p.provider_reference <> ''
        ) t
        JOIN unmatched u ON u.receipt = t.provider_reference COLLATE "C" AND t.channel = ANY(u.channels)
        WHERE {_MAY_BE}
    )
    INSERT INTO candidates
    SELECT f.line_id, f.merchant_id, f.transaction_id, f.is_exact, bool_or(f.by_receipt), bool_or(NOT f.by_receipt)
    FROM found f
    WHERE NOT EXISTS (
        -- Operators have found out that it was not this payment, though it has the key and the receipt of the line.
        SELECT FROM adopted_payments a
        WHERE a.merchant_id = f.merchant_id AND a.transaction_id = f.transaction_id AND a.undone_at IS NOT NULL)
    GROUP BY 1, 2, 3, 4
"""

# Whose key a line `l` has.
_KEY_SOURCE = (
    f"CASE WHEN {is_own_sql('l')} THEN 'network' WHEN {is_key_added_sql('l')} THEN 'copy' ELSE 'operators' END"
)
# By what a line fits a payment.
_CLAIM = """
    CASE WHEN NOT f.by_receipt THEN 'key'
         WHEN f.by_key THEN CASE WHEN f.is_reported_by_people THEN 'key_typed' ELSE 'key_receipt' END
         ELSE CASE WHEN f.is_reported_by_people THEN 'typed' ELSE 'receipt' END END
"""
_DROP_WEAKER = f"""
    WITH fitting AS MATERIALIZED (
        SELECT c.*, {_KEY_SOURCE} AS key_source, {is_receipt_reported_by_people_sql("t")} AS is_reported_by_people
        FROM candidates c JOIN statement_lines l ON l.id = c.line_id
        JOIN transactions t ON t.merchant_id = c.merchant_id AND t.id = c.transaction_id
        WHERE c.line_id IN (SELECT line_id FROM candidates GROUP BY 1 HAVING count(*) > 1)
    ), claims AS MATERIALIZED (
        SELECT f.*, {_CLAIM} AS claim FROM fitting f
    )
    DELETE FROM candidates d USING claims weak, claims strong, {stronger_fits_sql()}
    WHERE (d.line_id, d.merchant_id, d.transaction_id) = (weak.line_id, weak.merchant_id, weak.transaction_id)
      AND strong.line_id = weak.line_id AND strong.is_exact
      AND (strong.merchant_id, strong.transaction_id) <> (weak.merchant_id, weak.transaction_id)
      AND weak.key_source = ANY(rule.key_sources) AND strong.claim = ANY(rule.stronger)
      AND weak.claim = ANY(rule.weaker) AND NOT (rule.is_of_another_amount AND weak.is_exact)
"""

# The lines that fit exactly one payment, of exactly their amount.
SINGLE = """
    single AS (
        SELECT line_id, min(merchant_id) AS merchant_id, min(transaction_id) AS transaction_id,
               bool_or(by_receipt) AS by_receipt
        FROM candidates GROUP BY 1 HAVING count(*) = 1 AND bool_and(is_exact)
    )
"""


async def find_days(connection: Conn) -> list[date]:
    """The days of the lines in the queue, whatever their words."""
    rows = await connection.fetch(
        f"""
        SELECT DISTINCT {clock.day_sql("l.moved_at")} AS day
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        """
    )
    return [row["day"] for row in rows]


async def fill_candidates(
    tx: Tx,
    *,
    layouts: Sequence[str],
    accounts: Sequence[str],
    channels: Sequence[str],
    first: Sequence[str],
    last: Sequence[str],
) -> None:
    """Fill a temporary table with the payments that each line may be of, by receipt and by key.

    The account of an aggregator, by its layout or by its name, has the payments of all its channels.
    """
    # A file may have added more lines than there were. A plan made for the few lines before would take hours.
    await tx.execute("ANALYZE statement_lines, open_statement_lines")
    await tx.execute("DROP TABLE IF EXISTS pg_temp.candidates")
    await tx.execute(_TABLE)
    await tx.execute(_CANDIDATES, list(layouts), list(channels), list(first), list(last), list(accounts))
    await tx.execute("ANALYZE candidates")
    await drop_weaker(tx)


async def drop_weaker(tx: Tx) -> None:
    """Delete the candidates with a weaker claim, by `stronger_fits.py`."""
    await tx.execute(_DROP_WEAKER)

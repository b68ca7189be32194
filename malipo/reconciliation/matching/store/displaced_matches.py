"""The SQL of matches that do not hold any more: what the network itself reports now comes before what operators
reported.

A line that loses its payment is in the queue again.
"""

from collections.abc import Sequence
from datetime import date, datetime

from malipo import clock
from malipo.db import Tx
from malipo.payments.network_keys import ending_sql
from malipo.reconciliation.matching.store.candidates import SINGLE
from malipo.reconciliation.matching.store.matching import CANDIDATES_TO_TAKE_BACK
from malipo.reconciliation.matching.store.reported_by_network import (
    SIGNED,
    is_key_added_sql,
    is_own_reversal_sql,
    is_own_sql,
    is_receipt_reported_by_people_sql,
)
from malipo.reconciliation.statements.statement_file import FETCHED_BY


async def find_contradicted(tx: Tx) -> list[int]:
    """Lines that were matched by a fact in an operator's file that the network's own statement contradicts: another
    key, or that the line is no reversal. Reported lines only from files that no complete run has seen."""
    rows = await tx.fetch(
        f"""
        SELECT m.line_id FROM statement_matches m JOIN statement_lines l ON l.id = m.line_id
        JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.transaction_id
        WHERE (NOT m.is_reported OR m.line_id IN (
                  SELECT q.line_id FROM matched_files u JOIN statement_line_copies q ON q.file_id = u.file_id
                  WHERE NOT u.is_absence_checked))
          AND m.how <> 'operator' AND EXISTS (
            SELECT FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
            WHERE k.line_id = m.line_id AND n.imported_by = '{FETCHED_BY}' AND n.withdrawn_at IS NULL
              AND CASE m.role WHEN 'reversal' THEN k.kind <> 'reversal' OR k.linked NOT IN ('', l.linked)
                  ELSE m.role = 'payment' AND m.how = 'key' AND k.key <> ''
                       AND {ending_sql("k.key")} <> t.network_key END)
        ORDER BY 1
        """
    )
    return [row["line_id"] for row in rows]


async def find_named_by_people(tx: Tx, *, since: datetime) -> dict[int, date]:
    """Lines of the network's own, with their days, that were matched by a key which only an operator's copy adds, or by
    a receipt that only people have reported: of files that no complete run has seen, or that operators imported
    since."""
    rows = await tx.fetch(
        f"""
        SELECT DISTINCT l.id, {clock.day_sql("l.moved_at")} AS day
        FROM matched_files u JOIN statement_files f ON f.id = u.file_id
        JOIN statement_line_copies q ON q.file_id = u.file_id
        JOIN statement_matches m ON m.line_id = q.line_id AND m.role = 'payment' AND m.how IN ('key', 'receipt')
        JOIN statement_lines l ON l.id = q.line_id AND l.receipt <> ''
        JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.transaction_id
        WHERE (NOT u.is_absence_checked OR f.imported_by <> '{FETCHED_BY}' AND f.imported_at >= $1)
          AND CASE m.how WHEN 'key' THEN {is_key_added_sql("l")} ELSE {is_receipt_reported_by_people_sql("t")} END
        """,
        since,
    )
    return {row["id"]: row["day"] for row in rows}


async def find_with_receipts_of_others(
    tx: Tx,
    line_ids: Sequence[int],
    *,
    layouts: Sequence[str],
    accounts: Sequence[str],
    channels: Sequence[str],
    first: Sequence[str],
    last: Sequence[str],
) -> list[int]:
    """The lines whose receipt a payment without a line has from its network, with exactly the same amount."""
    if not line_ids:
        return []
    # The index makes it fast even without statistics of the tables, as after a restore.
    await tx.execute(
        """
        CREATE TEMPORARY TABLE named_lines (
            id bigint, receipt text COLLATE "C", amount bigint, cents integer, channels text[]) ON COMMIT DROP
        """
    )
    await tx.execute(
        """
        INSERT INTO named_lines
        SELECT l.id, l.receipt, l.amount, l.cents,
               CASE WHEN f.profile = ANY($1) OR f.account = ANY($2) THEN $3::text[] ELSE ARRAY[l.channel] END
        FROM statement_lines l JOIN statement_files f ON f.id = l.file_id WHERE l.id = ANY($4)
        """,
        list(layouts),
        list(accounts),
        list(channels),
        list(line_ids),
    )
    await tx.execute("CREATE INDEX ON named_lines (receipt)")
    await tx.execute("ANALYZE named_lines")
    rows = await tx.fetch(
        f"""
        WITH having_receipt AS MATERIALIZED (
            SELECT DISTINCT u.id AS line_id, t.merchant_id, t.id, t.provider_reference
            FROM merchants m CROSS JOIN unnest($1::text[], $2::text[]) AS w (first, last)
            CROSS JOIN LATERAL (
                SELECT p.* FROM transactions p
                WHERE p.merchant_id = m.id AND p.id >= w.first AND p.id <= w.last AND p.provider_reference <> ''
            ) t
            JOIN named_lines u ON u.receipt = t.provider_reference COLLATE "C" AND t.channel = ANY(u.channels)
                 AND {SIGNED} = u.amount AND u.cents = 0
        )
        SELECT DISTINCT t.line_id FROM having_receipt t
        WHERE NOT EXISTS (SELECT FROM statement_matches s
                          WHERE s.merchant_id = t.merchant_id AND s.transaction_id = t.id AND s.role = 'payment')
          AND NOT EXISTS (SELECT FROM adopted_payments a
                          WHERE a.merchant_id = t.merchant_id AND a.transaction_id = t.id AND a.undone_at IS NOT NULL)
          AND NOT {is_receipt_reported_by_people_sql("t")}
        ORDER BY 1
        """,
        list(first),
        list(last),
    )
    return [row["line_id"] for row in rows]


async def find_displaced_by_receipts(tx: Tx) -> list[int]:
    """Find the matches that are displaced, as `find_displaced` does, where a line of the network's own has the receipt
    that the payment has from its network, whatever key an operator's copy adds to the line."""
    rows = await tx.fetch(
        f"""
        WITH {SINGLE}
        SELECT DISTINCT m.line_id FROM single s JOIN statement_lines l ON l.id = s.line_id
        JOIN transactions t ON t.merchant_id = s.merchant_id AND t.id = s.transaction_id
        JOIN statement_matches m ON m.merchant_id = s.merchant_id AND m.transaction_id = s.transaction_id
             AND m.role = 'payment' AND m.how <> 'operator'
        JOIN statement_lines d ON d.id = m.line_id
        WHERE s.by_receipt AND {is_key_added_sql("l")} AND NOT {is_receipt_reported_by_people_sql("t")}
          AND NOT {is_own_sql("d")}
        ORDER BY 1
        """
    )
    return [row["line_id"] for row in rows]


async def find_displaced(tx: Tx) -> list[int]:
    """Lines that only operators brought and whose payment fits a line of the network's own statement; also reported
    lines. Only in the transaction that has filled the candidates."""
    rows = await tx.fetch(
        f"""
        WITH {SINGLE}
        SELECT DISTINCT m.line_id FROM single s JOIN statement_lines l ON l.id = s.line_id
        JOIN statement_matches m ON m.merchant_id = s.merchant_id AND m.transaction_id = s.transaction_id
             AND m.role = 'payment' AND m.how <> 'operator'
        JOIN statement_lines d ON d.id = m.line_id
        WHERE {is_own_sql("l")} AND NOT {is_own_sql("d")} ORDER BY 1
        """
    )
    return [row["line_id"] for row in rows]


async def find_displaced_reversals(tx: Tx) -> list[int]:
    """Reversals that only operators brought, of payments that the network's own statement reverses by another line."""
    rows = await tx.fetch(
        f"""
        WITH {CANDIDATES_TO_TAKE_BACK}
        SELECT m.line_id FROM candidate c
        JOIN statement_matches m ON m.merchant_id = c.merchant_id AND m.transaction_id = c.transaction_id
             AND m.role = 'reversal'
        JOIN statement_lines d ON d.id = m.line_id
        WHERE c.is_own AND NOT {is_own_reversal_sql("d")} ORDER BY 1
        """
    )
    return [row["line_id"] for row in rows]

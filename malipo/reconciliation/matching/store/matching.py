"""The SQL of matching: the queue of lines, and the matches of whole sets of them with their payments.

Which payments a line may be of: `candidates.py`. Matches that do not hold any more: `displaced_matches.py`.
"""

from datetime import datetime

from malipo.audit_log.actor import SYSTEM_NAME
from malipo.db import Conn, Tx
from malipo.db.whole_sets import whole_sets_sql
from malipo.errors import Code, Conflict
from malipo.reconciliation.matching.store.candidates import SINGLE
from malipo.reconciliation.matching.store.reported_by_network import (
    is_key_added_sql,
    is_own_reversal_sql,
    is_own_sql,
    is_receipt_reported_by_people_sql,
)


class MatchingRefusal(Code):
    UNDER_WAY = "matching_under_way"


# Whether the line is the network's own, whatever key an operator's copy adds to it, and the payment has the line's
# receipt from its network.
_HAS_NETWORKS_RECEIPT = f"""
    CASE WHEN s.by_receipt AND {is_key_added_sql("l")} THEN NOT {is_receipt_reported_by_people_sql("t")} ELSE false END
"""
# A line that fits several payments is not matched. If several lines fit a payment, the first one is matched: a line of
# the network's own statement before lines that only operators brought.
_MATCH = f"""
    WITH {SINGLE}, first AS (
        SELECT DISTINCT ON (s.merchant_id, s.transaction_id) s.*
        FROM single s JOIN statement_lines l ON l.id = s.line_id
        JOIN transactions t ON t.merchant_id = s.merchant_id AND t.id = s.transaction_id
        -- Of a payment and a fee that is as large, the payment.
        ORDER BY s.merchant_id, s.transaction_id, NOT ({is_own_sql("l")} OR {_HAS_NETWORKS_RECEIPT}), l.kind <> 'money',
                 s.by_receipt DESC, l.moved_at, l.receipt, l.nth, l.id
    ), matched AS (
        INSERT INTO statement_matches (
            line_id, merchant_id, transaction_id, role, how, is_reported, ledger_at, matched_by, matched_at)
        SELECT f.line_id, f.merchant_id, f.transaction_id, 'payment',
               CASE WHEN f.by_receipt THEN 'receipt' ELSE 'key' END, is_told.yes,
               CASE WHEN is_told.yes THEN (
                   SELECT e.created_at FROM moves e
                   WHERE e.merchant_id = f.merchant_id AND e.cause_id = f.transaction_id AND e.step = 'end'
                     AND e.ordinal = 1 AND e.move_number = 1) END,
               '{SYSTEM_NAME}', $1
        FROM first f JOIN transactions t ON t.merchant_id = f.merchant_id AND t.id = f.transaction_id
        CROSS JOIN LATERAL (
            -- A payment that is COMPLETED, and that nobody contradicts, needs no update from its line.
            SELECT t.status = 'COMPLETED' AND NOT EXISTS (
                SELECT FROM corrections c WHERE c.merchant_id = t.merchant_id AND c.transaction_id = t.id) AS yes
        ) AS is_told
        ON CONFLICT DO NOTHING RETURNING line_id, merchant_id, transaction_id
    ), closed AS (
        DELETE FROM open_statement_lines o USING matched WHERE o.line_id = matched.line_id
    )
    SELECT count(*) FROM matched
"""

# Reversals that may take a payment back: those that were not rejected with their list, or that the network itself
# tells.
MAY_TAKE_BACK = f"(o.rejected_in IS NULL OR {is_own_reversal_sql('l')})"
# The query goes from the few reversals to their payments, and never the other way round, whatever the planner's
# statistics. A reversal of the network's own statement comes before those that only operators brought.
CANDIDATES_TO_TAKE_BACK = f"""
    reversal AS MATERIALIZED (
        SELECT l.*, {is_own_reversal_sql("l")} AS is_own
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        WHERE l.kind = 'reversal' AND l.linked <> '' AND {MAY_TAKE_BACK}
    ), candidate AS (
        SELECT DISTINCT ON (p.merchant_id, p.transaction_id) r.id AS line_id, r.is_own, p.merchant_id, p.transaction_id
        FROM reversal r CROSS JOIN LATERAL (
            SELECT m.merchant_id, m.transaction_id FROM statement_lines l
            JOIN statement_matches m ON m.line_id = l.id AND m.role = 'payment'
            WHERE l.channel = r.channel AND l.account = r.account AND l.receipt = r.linked
              AND (l.amount, l.cents) = (-r.amount, -r.cents) OFFSET 0
        ) p
        ORDER BY p.merchant_id, p.transaction_id, NOT r.is_own, r.moved_at, r.receipt, r.id
    )
"""
_REVERSALS = f"""
    WITH {CANDIDATES_TO_TAKE_BACK}, matched AS (
        INSERT INTO statement_matches (
            line_id, merchant_id, transaction_id, role, how, is_reported, matched_by, matched_at)
        SELECT line_id, merchant_id, transaction_id, 'reversal', 'receipt', false, '{SYSTEM_NAME}', $1 FROM candidate
        ON CONFLICT DO NOTHING RETURNING line_id
    ), closed AS (
        DELETE FROM open_statement_lines o USING matched WHERE o.line_id = matched.line_id
    )
    SELECT count(*) FROM matched
"""


async def lock(tx: Tx) -> None:
    """Take the lock of matching, so that only one runs at a time. Its statements read whole sets, so there is no
    timeout."""
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended('matching of statements', 0))")
    await tx.execute(whole_sets_sql("64MB"))


async def lock_for_decision(tx: Tx) -> None:
    """Take the lock of matching for an operator's decision, or refuse it while a matching runs, which may take long."""
    if not await tx.fetchval("SELECT pg_try_advisory_xact_lock(hashtextextended('matching of statements', 0))"):
        raise Conflict(code=MatchingRefusal.UNDER_WAY)


async def queue_new_files(tx: Tx, *, now: datetime) -> list[str]:
    """Put the lines of files that were not matched yet into the queue, without lines that moved nothing. Returns the
    files."""
    rows = await tx.fetch(
        """
            WITH new AS (
                INSERT INTO matched_files (file_id, queued_at)
                SELECT f.id, $1 FROM statement_files f
                WHERE f.withdrawn_at IS NULL AND NOT EXISTS (SELECT FROM matched_files m WHERE m.file_id = f.id)
                ON CONFLICT DO NOTHING RETURNING file_id
            ), queued AS (
                INSERT INTO open_statement_lines (line_id, channel)
                SELECT l.id, l.channel FROM new JOIN statement_lines l ON l.file_id = new.file_id WHERE l.amount <> 0
                ON CONFLICT DO NOTHING -- of a line that was inherited from a file that was withdrawn
            )
            SELECT file_id FROM new ORDER BY 1
            """,
        now,
    )
    await tx.execute("ANALYZE open_statement_lines")  # or the statements that follow are planned for an empty queue
    return [row["file_id"] for row in rows]


async def match_payments(tx: Tx, *, now: datetime) -> int:
    matched = int(await tx.fetchval(_MATCH, now))
    await tx.execute("ANALYZE statement_matches")
    return matched


async def match_reversals(tx: Tx, *, now: datetime) -> int:
    """Match reversals of exactly the amount of a matched line."""
    return int(await tx.fetchval(_REVERSALS, now))


async def find_open_reversals(connection: Conn, line_id: int) -> list[int]:
    """Reversals in the queue of exactly this line's amount, which would take its payment back if the line were
    matched."""
    rows = await connection.fetch(
        f"""
        SELECT l.id FROM statement_lines p
        JOIN statement_lines l ON l.channel = p.channel AND l.account = p.account AND l.linked = p.receipt
          AND l.kind = 'reversal' AND (l.amount, l.cents) = (-p.amount, -p.cents)
        JOIN open_statement_lines o ON o.line_id = l.id
        WHERE p.id = $1 AND p.receipt <> '' AND {MAY_TAKE_BACK} ORDER BY 1
        """,
        line_id,
    )
    return [row["id"] for row in rows]


async def attach_fees(tx: Tx, *, now: datetime) -> int:
    """Match fees with the payments whose receipt they have. The line of the payment may have come before or after the
    fee."""
    return int(
        await tx.fetchval(
            f"""
            WITH fee AS (
                SELECT l.id, l.channel, l.account, l.receipt FROM open_statement_lines o
                JOIN statement_lines l ON l.id = o.line_id WHERE l.kind = 'fee' AND l.amount < 0
                UNION
                SELECT l.id, l.channel, l.account, l.receipt FROM candidates c
                JOIN statement_lines p ON p.id = c.line_id
                JOIN statement_lines l ON l.channel = p.channel AND l.account = p.account AND l.receipt = p.receipt
                WHERE l.kind = 'fee' AND l.amount < 0
            ), attached AS (
                INSERT INTO statement_matches (
                    line_id, merchant_id, transaction_id, role, how, is_reported, matched_by, matched_at)
                SELECT DISTINCT ON (fee.id) fee.id, m.merchant_id, m.transaction_id, 'fee', 'receipt', true,
                       '{SYSTEM_NAME}', $1
                FROM fee JOIN statement_lines p ON p.channel = fee.channel AND p.account = fee.account
                     AND p.receipt = fee.receipt
                JOIN statement_matches m ON m.line_id = p.id AND m.role = 'payment'
                ORDER BY fee.id, p.id
                ON CONFLICT DO NOTHING RETURNING 1
            )
            SELECT count(*) FROM attached
            """,
            now,
        )
    )

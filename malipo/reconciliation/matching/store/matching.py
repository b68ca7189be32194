"""The SQL of matching: whole sets of lines and payments, inside the database, so that memory stays flat.

There is no index of receipts: payments of the days in question are read by their ids, merchant by merchant.
"""

from collections.abc import Sequence
from datetime import date, datetime

from malipo import clock
from malipo.audit_log.actor import SYSTEM_NAME
from malipo.db import Conn, Tx
from malipo.errors import Code, Conflict
from malipo.payments.network_keys import ending_sql
from malipo.reconciliation.matching.statement_answer_ids import is_of_trusted_line
from malipo.reconciliation.statements.store.statements import FETCHED_BY

# What a line says: a collection comes in, a payout goes out.
SIGNED = "CASE t.type WHEN 'COLLECTION' THEN t.amount ELSE -t.amount END"


class MatchingRefusal(Code):
    UNDER_WAY = "matching_under_way"


def keys_of(written: str) -> str:
    """The network key that a line may name, as a query: where `network_keys.key_in` finds it, too."""
    return f"SELECT {ending_sql(written)}"


def _is_own(line: str) -> str:
    """Whether the network's own statement has a line, with the key that the line has."""
    return f"""
        (EXISTS (SELECT FROM statement_files n WHERE n.id = {line}.file_id AND n.imported_by = '{FETCHED_BY}')
             AND NOT EXISTS (SELECT FROM statement_line_copies k WHERE k.line_id = {line}.id)
         OR EXISTS (SELECT FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
                    WHERE k.line_id = {line}.id AND k.key = {line}.key AND n.imported_by = '{FETCHED_BY}'
                      AND n.withdrawn_at IS NULL))
    """


def is_own_reversal(line: str) -> str:
    """Whether the network's own statement calls a line a reversal of the receipt that the line names."""
    return f"""
        (EXISTS (SELECT FROM statement_files n WHERE n.id = {line}.file_id AND n.imported_by = '{FETCHED_BY}')
             AND NOT EXISTS (SELECT FROM statement_line_copies k WHERE k.line_id = {line}.id)
         OR EXISTS (SELECT FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
                    WHERE k.line_id = {line}.id AND k.kind = 'reversal' AND k.linked = {line}.linked
                      AND n.imported_by = '{FETCHED_BY}' AND n.withdrawn_at IS NULL))
    """


def is_key_added(line: str) -> str:
    """Whether the network's own statement has a line, and only an operator's copy has the key that the line has."""
    return f"""
        ({line}.key <> '' AND NOT {_is_own(line)} AND EXISTS (
            SELECT FROM statement_line_copies k JOIN statement_files n ON n.id = k.file_id
            WHERE k.line_id = {line}.id AND n.imported_by = '{FETCHED_BY}' AND n.withdrawn_at IS NULL))
    """


def is_receipt_told_by_people(payment: str) -> str:
    """Whether a payment has its receipt from operators, or from a line of a statement, and not from an answer of its
    network."""
    return f"""
        (coalesce(({payment}.merchant_id, {payment}.id, {payment}.provider_reference) IN (
             SELECT r.merchant_id, r.transaction_id, r.provider_reference FROM resolutions r
             WHERE r.outcome = 'completed' AND r.is_approved AND r.provider_reference <> ''), false)
         OR EXISTS (SELECT FROM network_answers a
                    WHERE a.merchant_id = {payment}.merchant_id AND a.transaction_id = {payment}.id
                      AND a.source = 'statement' AND a.verdict = 'confirmed' AND {is_of_trusted_line("a")}))
    """


_TABLE = """
    CREATE TEMPORARY TABLE candidates (
        line_id bigint, merchant_id text COLLATE "C", transaction_id text COLLATE "C", is_exact boolean,
        by_receipt boolean, by_key boolean
    ) ON COMMIT DROP
"""
# A remark of a customer ("School fees") may be taken for a fee, a sweep, or anything. The words do not count where the
# amount and the direction are exactly those of the payment: what the network charges for it has another amount.
_MAY_BE = f"(u.kind = 'money' OR ({SIGNED} = u.amount AND u.cents = 0))"
# A line that names our key is about that payment, also if its amount is another. Reversals name it too, and charges for
# what was paid.
_MAY_BE_BY_KEY = f"(u.kind IN ('bank', 'other', 'sweep') OR u.kind = 'fee' AND t.status <> 'COMPLETED' OR {_MAY_BE})"
_CANDIDATES = f"""
    WITH unmatched AS MATERIALIZED (
        SELECT l.id, l.channel, l.receipt, l.amount, l.cents, l.kind,
               -- What an operator's copy adds was rejected. The line is the network's own all the same.
               CASE WHEN o.rejected_in IS NOT NULL AND {is_key_added("l")} THEN '' ELSE l.key END AS key,
               CASE WHEN f.profile = ANY($1) OR f.account = ANY($5) THEN $2::text[]
                    ELSE ARRAY[l.channel] END AS channels
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        JOIN statement_files f ON f.id = l.file_id
        WHERE (o.rejected_in IS NULL OR {_is_own("l")} OR {is_key_added("l")}) AND NOT EXISTS (
            -- Operators have undone what was decided about it: only they decide again.
            SELECT FROM reconciliation_exceptions e JOIN exception_resolutions r ON r.exception_id = e.id
            WHERE e.line_id = l.id AND r.undone_by IS NOT NULL)
    ), found AS (
        SELECT u.id AS line_id, t.merchant_id, t.id AS transaction_id, {SIGNED} = u.amount AND u.cents = 0 AS is_exact,
               false AS by_receipt
        FROM unmatched u CROSS JOIN LATERAL unnest(u.channels) AS c (channel)
        CROSS JOIN LATERAL ({keys_of("u.key")}) AS k (key)
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

# Whose key a line `l` has: that of the network's own statement, one that an operator's copy adds to the network's line,
# or that of a line which only operators have brought.
_KEY_TOLD_BY = f"CASE WHEN {_is_own('l')} THEN 'network' WHEN {is_key_added('l')} THEN 'copy' ELSE 'operators' END"
# By what a line fits a payment: its key, its receipt as the network has told it, or a receipt that people have typed.
_CLAIM = """
    CASE WHEN NOT f.by_receipt THEN 'key'
         WHEN f.by_key THEN CASE WHEN f.is_told_by_people THEN 'key_typed' ELSE 'key_receipt' END
         ELSE CASE WHEN f.is_told_by_people THEN 'typed' ELSE 'receipt' END END
"""
# Where a line fits several payments, which of them does not keep it from another. The stronger payment has exactly the
# amount of the line. This is no order of strength: of two receipts that the network has told, none is the stronger one,
# whatever their amounts; but a key of the exact amount is stronger than such a receipt of another amount.
# The grid of all pairs, to read before this table: `tests/reconciliation/test_stronger_claims.py`.
_STRONGER = """
    (VALUES
        -- whose key the line has         the stronger claim             the weaker one      only of another amount
        -- The network has told the receipt of the one, and only people that of the other.
        ('{network,copy,operators}'::text[], '{receipt,key_receipt}'::text[], '{typed}'::text[], false),
        -- The network itself names the one, and only people have told the receipt of the other.
        ('{network}', '{key,key_receipt,key_typed}', '{typed}', false),
        -- The line names the one. Only people have told the receipt of the other, and its amount is not the line's.
        ('{network,copy,operators}', '{key,key_receipt,key_typed}', '{typed}', true),
        -- The line names the one. The amount of the other is not the line's. A key that was added is no such name.
        ('{network,operators}', '{key,key_receipt,key_typed}', '{receipt}', true),
        -- The network has told the receipt of the one. Only an operator has added the key of the other to its line.
        ('{copy}', '{receipt,key_receipt}', '{key,key_typed}', false)
    ) AS rule (key_told_by, stronger, weaker, is_of_another_amount)
"""
_DROP_WEAKER = f"""
    WITH fitting AS MATERIALIZED (
        SELECT c.*, {_KEY_TOLD_BY} AS key_told_by, {is_receipt_told_by_people("t")} AS is_told_by_people
        FROM candidates c JOIN statement_lines l ON l.id = c.line_id
        JOIN transactions t ON t.merchant_id = c.merchant_id AND t.id = c.transaction_id
        WHERE c.line_id IN (SELECT line_id FROM candidates GROUP BY 1 HAVING count(*) > 1)
    ), claims AS MATERIALIZED (
        SELECT f.*, {_CLAIM} AS claim FROM fitting f
    )
    DELETE FROM candidates d USING claims weak, claims strong, {_STRONGER}
    WHERE (d.line_id, d.merchant_id, d.transaction_id) = (weak.line_id, weak.merchant_id, weak.transaction_id)
      AND strong.line_id = weak.line_id AND strong.is_exact
      AND (strong.merchant_id, strong.transaction_id) <> (weak.merchant_id, weak.transaction_id)
      AND weak.key_told_by = ANY(rule.key_told_by) AND strong.claim = ANY(rule.stronger)
      AND weak.claim = ANY(rule.weaker) AND NOT (rule.is_of_another_amount AND weak.is_exact)
"""

_SINGLE = """
    single AS (
        SELECT line_id, min(merchant_id) AS merchant_id, min(transaction_id) AS transaction_id,
               bool_or(by_receipt) AS by_receipt
        FROM candidates GROUP BY 1 HAVING count(*) = 1 AND bool_and(is_exact)
    )
"""
# The line is the network's own, whatever key an operator's copy adds to it, and the payment has its receipt from the
# network.
_HAS_NETWORKS_RECEIPT = f"""
    CASE WHEN s.by_receipt AND {is_key_added("l")} THEN NOT {is_receipt_told_by_people("t")} ELSE false END
"""
# Where a line fits several payments, none is matched. Where several lines fit a payment, the first is, and one of the
# network's own statement before any that only operators brought.
_MATCH = f"""
    WITH {_SINGLE}, first AS (
        SELECT DISTINCT ON (s.merchant_id, s.transaction_id) s.*
        FROM single s JOIN statement_lines l ON l.id = s.line_id
        JOIN transactions t ON t.merchant_id = s.merchant_id AND t.id = s.transaction_id
        -- Of a payment and a fee that is as large, the payment.
        ORDER BY s.merchant_id, s.transaction_id, NOT ({_is_own("l")} OR {_HAS_NETWORKS_RECEIPT}), l.kind <> 'money',
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

# What rejecting its list has not taken away from operators' files, or the network's own statement has.
_MAY_TAKE_BACK = f"(o.rejected_in IS NULL OR {is_own_reversal('l')})"
# From the few reversals to their payments, and never the other way round, whatever the planner knows of the tables. One
# of the network's own statement comes before any that only operators brought.
_CANDIDATES_TO_TAKE_BACK = f"""
    reversal AS MATERIALIZED (
        SELECT l.*, {is_own_reversal("l")} AS is_own
        FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
        WHERE l.kind = 'reversal' AND l.linked <> '' AND {_MAY_TAKE_BACK}
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
    WITH {_CANDIDATES_TO_TAKE_BACK}, matched AS (
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
    """One matching at a time. Its statements read whole sets: they take as long as that takes."""
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended('matching of statements', 0))")
    for setting in ("enable_seqscan", "enable_hashjoin", "enable_mergejoin"):
        await tx.execute(f"SET LOCAL {setting} = on")
    await tx.execute("SET LOCAL statement_timeout = 0")
    await tx.execute("SET LOCAL work_mem = '64MB'")


async def lock_for_decision(tx: Tx) -> None:
    """Operators decide while nothing is matched. They are not kept waiting for a million lines."""
    if not await tx.fetchval("SELECT pg_try_advisory_xact_lock(hashtextextended('matching of statements', 0))"):
        raise Conflict(code=MatchingRefusal.UNDER_WAY)


async def queue_new_files(tx: Tx, *, now: datetime) -> list[str]:
    """Put the lines of files that were not matched yet into the queue; which files. A line that moved nothing has no
    place to find."""
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


async def find_days(connection: Conn) -> list[date]:
    """The days of lines in the queue. Whatever their words are, they may be payments."""
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
    """Note which payments each line may be of, by receipt and by key, in a table of this transaction.

    The account of an aggregator, by its layout or by its name, has the payments of all its channels.
    """
    # A file may have brought more lines than there were: a plan for the few before it would take hours.
    await tx.execute("ANALYZE statement_lines, open_statement_lines")
    await tx.execute("DROP TABLE IF EXISTS pg_temp.candidates")
    await tx.execute(_TABLE)
    await tx.execute(_CANDIDATES, list(layouts), list(channels), list(first), list(last), list(accounts))
    await tx.execute("ANALYZE candidates")
    await drop_weaker(tx)


async def drop_weaker(tx: Tx) -> None:
    """Of the payments that a line fits, take those from the candidates that do not keep it from another."""
    await tx.execute(_DROP_WEAKER)


async def find_contradicted(tx: Tx) -> list[int]:
    """Lines that were matched by what an operator's file says, where the network's own statement says something else of
    the same line: another key, or that it is no reversal. Of those whose payment was told, or had nothing to be told,
    only the lines of files that no whole run has seen."""
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
    """Lines of the network's own that were matched by a key which only an operator's copy adds, or by a receipt that
    only people have told, and their days: of files that no whole run has seen, and of those that operators have
    imported since then."""
    rows = await tx.fetch(
        f"""
        SELECT DISTINCT l.id, {clock.day_sql("l.moved_at")} AS day
        FROM matched_files u JOIN statement_files f ON f.id = u.file_id
        JOIN statement_line_copies q ON q.file_id = u.file_id
        JOIN statement_matches m ON m.line_id = q.line_id AND m.role = 'payment' AND m.how IN ('key', 'receipt')
        JOIN statement_lines l ON l.id = q.line_id AND l.receipt <> ''
        JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.transaction_id
        WHERE (NOT u.is_absence_checked OR f.imported_by <> '{FETCHED_BY}' AND f.imported_at >= $1)
          AND CASE m.how WHEN 'key' THEN {is_key_added("l")} ELSE {is_receipt_told_by_people("t")} END
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
    """Those of these lines whose receipt a payment without a line has from its network, with exactly their amount."""
    if not line_ids:
        return []
    # With an index, so that it is quick also where nobody has counted the rows yet, as after a restore.
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
          AND NOT {is_receipt_told_by_people("t")}
        ORDER BY 1
        """,
        list(first),
        list(last),
    )
    return [row["line_id"] for row in rows]


async def find_displaced_by_receipts(tx: Tx) -> list[int]:
    """As `find_displaced`: by a line of the network's own whose payment has its receipt from the network, whatever key
    an operator's copy adds to it."""
    rows = await tx.fetch(
        f"""
        WITH {_SINGLE}
        SELECT DISTINCT m.line_id FROM single s JOIN statement_lines l ON l.id = s.line_id
        JOIN transactions t ON t.merchant_id = s.merchant_id AND t.id = s.transaction_id
        JOIN statement_matches m ON m.merchant_id = s.merchant_id AND m.transaction_id = s.transaction_id
             AND m.role = 'payment' AND m.how <> 'operator'
        JOIN statement_lines d ON d.id = m.line_id
        WHERE s.by_receipt AND {is_key_added("l")} AND NOT {is_receipt_told_by_people("t")} AND NOT {_is_own("d")}
        ORDER BY 1
        """
    )
    return [row["line_id"] for row in rows]


async def find_displaced(tx: Tx) -> list[int]:
    """Lines that only operators brought, and whose payment a line of the network's own statement fits; also those whose
    payment was told, or had nothing to be told. Only in the transaction that has noted the candidates."""
    rows = await tx.fetch(
        f"""
        WITH {_SINGLE}
        SELECT DISTINCT m.line_id FROM single s JOIN statement_lines l ON l.id = s.line_id
        JOIN statement_matches m ON m.merchant_id = s.merchant_id AND m.transaction_id = s.transaction_id
             AND m.role = 'payment' AND m.how <> 'operator'
        JOIN statement_lines d ON d.id = m.line_id
        WHERE {_is_own("l")} AND NOT {_is_own("d")} ORDER BY 1
        """
    )
    return [row["line_id"] for row in rows]


async def find_displaced_reversals(tx: Tx) -> list[int]:
    """Reversals that only operators brought, and whose payment the network's own statement takes back by another."""
    rows = await tx.fetch(
        f"""
        WITH {_CANDIDATES_TO_TAKE_BACK}
        SELECT m.line_id FROM candidate c
        JOIN statement_matches m ON m.merchant_id = c.merchant_id AND m.transaction_id = c.transaction_id
             AND m.role = 'reversal'
        JOIN statement_lines d ON d.id = m.line_id
        WHERE c.is_own AND NOT {is_own_reversal("d")} ORDER BY 1
        """
    )
    return [row["line_id"] for row in rows]


async def match_payments(tx: Tx, *, now: datetime) -> int:
    matched = int(await tx.fetchval(_MATCH, now))
    await tx.execute("ANALYZE statement_matches")
    return matched


async def match_reversals(tx: Tx, *, now: datetime) -> int:
    """Those that take exactly back what a matched line moved."""
    return int(await tx.fetchval(_REVERSALS, now))


async def find_open_reversals(connection: Conn, line_id: int) -> list[int]:
    """Lines that have no place yet, and would take exactly back what this one moved, if it were matched."""
    rows = await connection.fetch(
        f"""
        SELECT l.id FROM statement_lines p
        JOIN statement_lines l ON l.channel = p.channel AND l.account = p.account AND l.linked = p.receipt
          AND l.kind = 'reversal' AND (l.amount, l.cents) = (-p.amount, -p.cents)
        JOIN open_statement_lines o ON o.line_id = l.id
        WHERE p.id = $1 AND p.receipt <> '' AND {_MAY_TAKE_BACK} ORDER BY 1
        """,
        line_id,
    )
    return [row["id"] for row in rows]


async def attach_fees(tx: Tx, *, now: datetime) -> int:
    """A fee has the receipt of its payment. Its payment may have come first, or later."""
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

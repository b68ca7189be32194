"""The ledger check of wallet statements and wallets, in pieces: each piece reads a range, independently of the others.

A statement is a chain whose lines never change: one piece follows some lines, another one compares the last line with
the wallet. It only reads.
"""

from malipo.db import Conn
from malipo.db.key_range import KeyRange
from malipo.ledger.check import LedgerFinding


async def prepare(connection: Conn) -> None:
    """Prepare a connection for a piece, which is a range of an index: no parallel workers, and no more memory than
    usual."""
    await connection.execute(
        """
        SET LOCAL work_mem = '64MB'; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL statement_timeout = 0;
        SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on
        """
    )


async def check_lines(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Statement lines in a range of (merchant, line) that do not start from the balance after the line before."""
    rows = await connection.fetch(
        f"""
        SELECT l.merchant_id, l.statement_line, l.balance_after, w.merchant_id IS NULL AS has_no_wallet,
               coalesce(l.number_before, b.statement_line, 0) + 1 AS place,
               coalesce(l.balance_before, b.balance_after, 0) + l.change AS expected
        FROM (
            SELECT merchant_id, statement_line, balance_after,
                   CASE WHEN target = 'wallet' THEN amount ELSE -amount END AS change,
                   lag(statement_line) OVER lines AS number_before, lag(balance_after) OVER lines AS balance_before
            FROM moves WHERE statement_line IS NOT NULL AND {within.holds("merchant_id", "statement_line")}
            WINDOW lines AS (PARTITION BY merchant_id ORDER BY statement_line)
        ) l
        -- Before the first line of a piece is the last one of another piece.
        LEFT JOIN moves b ON l.number_before IS NULL AND b.merchant_id = l.merchant_id
                         AND b.statement_line = l.statement_line - 1
        LEFT JOIN wallets w ON w.merchant_id = l.merchant_id
        WHERE l.statement_line <> coalesce(l.number_before, b.statement_line, 0) + 1
           OR l.balance_after <> coalesce(l.balance_before, b.balance_after, 0) + l.change OR w.merchant_id IS NULL
        ORDER BY 1, 2 LIMIT 100
        """,
        *within.values,
    )
    found = []
    for row in rows:
        where = f"{row['merchant_id']} line {row['statement_line']}"
        if row["has_no_wallet"]:
            found.append(LedgerFinding("statement line without a wallet", where, row["balance_after"], None))
        if row["statement_line"] != row["place"]:
            found.append(LedgerFinding("number of a statement line", where, row["statement_line"], row["place"]))
        if row["balance_after"] != row["expected"]:
            found.append(LedgerFinding("balance after a statement line", where, row["balance_after"], row["expected"]))
    return found


async def check_wallets(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Wallets in a range of merchants that differ from their last line, or from their open payouts."""
    rows = await connection.fetch(
        f"""
        WITH open_payouts AS (
            SELECT d.merchant_id, sum(t.amount + t.fee)::bigint AS amount
            FROM dispatches d JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
            WHERE t.type = 'DISBURSEMENT' AND t.ended_at IS NULL AND {within.holds("d.merchant_id")} GROUP BY 1
        ), corrected AS (
            SELECT merchant_id, sum(CASE 'in_flight' WHEN target THEN amount ELSE -amount END)::bigint AS amount
            FROM moves
            WHERE step IN ('contradiction', 'resolution') AND 'in_flight' IN (source, target)
              AND {within.holds("merchant_id")} GROUP BY 1
        )
        SELECT w.merchant_id, checked.*
        FROM wallets w
        LEFT JOIN LATERAL (
            SELECT statement_line, balance_after FROM moves m
            WHERE m.merchant_id = w.merchant_id AND m.statement_line IS NOT NULL ORDER BY m.statement_line DESC LIMIT 1
        ) l ON true
        LEFT JOIN open_payouts o ON o.merchant_id = w.merchant_id
        LEFT JOIN corrected c ON c.merchant_id = w.merchant_id
        CROSS JOIN LATERAL (VALUES
            ('wallet', w.available, coalesce(l.balance_after, 0)),
            ('in flight', w.in_flight, coalesce(o.amount, 0) + coalesce(c.amount, 0)),
            ('statement lines', w.statement_lines, coalesce(l.statement_line, 0))
        ) AS checked (what, stored, computed)
        WHERE checked.stored IS DISTINCT FROM checked.computed AND {within.holds("w.merchant_id")}
        ORDER BY 1, 2 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding(row["what"], row["merchant_id"], row["stored"], row["computed"]) for row in rows]

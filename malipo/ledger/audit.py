"""Recomputes every balance from the moves and says what differs. It reads, and never mends."""

from dataclasses import dataclass

from malipo.db import Conn


@dataclass(frozen=True)
class Finding:
    """One thing in the book that is not as it must be."""

    what: str
    where: str
    stored: int | None
    computed: int | None


async def balances(connection: Conn) -> dict[str, int]:
    """Every account of the house and the sums of the merchants' accounts, from the moves alone."""
    rows = await connection.fetch(
        """
        SELECT CASE account WHEN 'float' THEN 'float ' || channel ELSE account END AS account,
               sum(change)::bigint AS balance
        FROM (SELECT target AS account, channel, amount AS change FROM moves
              UNION ALL
              SELECT source, channel, -amount FROM moves) AS entries
        GROUP BY 1 ORDER BY 1
        """
    )
    return {row["account"]: row["balance"] for row in rows}


async def check(connection: Conn) -> list[Finding]:
    """Everything that differs between the stored balances, the statement lines and the moves."""
    return [*await _wrong_balances(connection), *await _wrong_statement_lines(connection)]


async def _wrong_balances(connection: Conn) -> list[Finding]:
    rows = await connection.fetch(
        """
        WITH summed AS (
            SELECT merchant_id,
                   sum(CASE 'wallet' WHEN target THEN amount WHEN source THEN -amount ELSE 0 END)::bigint
                       AS available,
                   sum(CASE 'in_flight' WHEN target THEN amount WHEN source THEN -amount ELSE 0 END)::bigint
                       AS in_flight,
                   count(wallet_line) AS lines
            FROM moves GROUP BY merchant_id
        )
        SELECT coalesce(w.merchant_id, s.merchant_id) AS merchant_id, checked.*
        FROM wallets w FULL JOIN summed s USING (merchant_id)
        CROSS JOIN LATERAL (VALUES
            ('wallet', w.available, coalesce(s.available, 0)),
            ('in flight', w.in_flight, coalesce(s.in_flight, 0)),
            ('statement lines', w.lines, coalesce(s.lines, 0))
        ) AS checked (what, stored, computed)
        WHERE checked.stored IS DISTINCT FROM checked.computed
        ORDER BY 1, 2
        """
    )
    return [Finding(row["what"], row["merchant_id"], row["stored"], row["computed"]) for row in rows]


async def _wrong_statement_lines(connection: Conn) -> list[Finding]:
    rows = await connection.fetch(
        """
        SELECT merchant_id, wallet_line, wallet_after, expected FROM (
            SELECT merchant_id, wallet_line, wallet_after,
                   sum(CASE WHEN target = 'wallet' THEN amount ELSE -amount END)
                       OVER (PARTITION BY merchant_id ORDER BY wallet_line)::bigint AS expected
            FROM moves WHERE wallet_line IS NOT NULL
        ) AS running
        WHERE wallet_after <> expected
        ORDER BY merchant_id, wallet_line LIMIT 100
        """
    )
    return [
        Finding(
            "balance after a statement line",
            f"{row['merchant_id']} line {row['wallet_line']}",
            row["wallet_after"],
            row["expected"],
        )
        for row in rows
    ]

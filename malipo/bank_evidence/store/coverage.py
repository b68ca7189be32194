"""The days that statements of our own bank accounts cover. `bank/import_statement.py` writes them."""

from datetime import date

from malipo import clock
from malipo.bank_evidence.coverage import Days
from malipo.db import Conn, Tx


async def insert(tx: Tx, payer_account_id: str, statement_id: str, *, first: date, last: date) -> None:
    await tx.execute(
        """
        INSERT INTO bank_coverage (payer_account_id, statement_id, first_day, last_day) VALUES ($1, $2, $3, $4)
        ON CONFLICT DO NOTHING
        """,
        payer_account_id,
        statement_id,
        first,
        last,
    )


async def delete(tx: Tx, statement_id: str) -> None:
    """Delete the days of a statement: it was withdrawn, or they are written anew."""
    await tx.execute("DELETE FROM bank_coverage WHERE statement_id = $1", statement_id)


async def find_first_account(connection: Conn) -> date | None:
    """The day on which the first of our accounts was added, before which no file to the bank was made."""
    day: date | None = await connection.fetchval(f"SELECT {clock.day_sql('min(added_at)')} FROM payer_accounts")
    return day


async def find(connection: Conn) -> dict[str, list[Days]]:
    """The covered days of each payer account. An account of which nothing is covered has an empty list."""
    rows = await connection.fetch(
        """
        SELECT coalesce(a.id, c.payer_account_id), c.first_day, c.last_day
        FROM payer_accounts a FULL JOIN bank_coverage c ON c.payer_account_id = a.id ORDER BY 1, 2, 3
        """
    )
    found: dict[str, list[Days]] = {}
    for account_id, first, last in rows:
        days = found.setdefault(account_id, [])
        if first is not None:
            days.append((first, last))
    return found


async def find_importers(connection: Conn, first: date, last: date) -> list[str]:
    """Who has imported the statements that cover some of these days. Who approves a release asks whether they are the
    bank's: one without debits counts with one operator."""
    rows = await connection.fetch(
        """
        SELECT DISTINCT f.imported_by FROM bank_coverage c JOIN bank_statements f ON f.id = c.statement_id
        WHERE c.first_day <= $2 AND c.last_day >= $1 ORDER BY 1
        """,
        first,
        last,
    )
    return [row["imported_by"] for row in rows]

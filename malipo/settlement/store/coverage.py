"""The days that statements of our own bank accounts cover. The room of the bank writes them."""

from datetime import date

from malipo.db import Conn, Tx
from malipo.settlement.coverage import Days


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
    """The statement is withdrawn."""
    await tx.execute("DELETE FROM bank_coverage WHERE statement_id = $1", statement_id)


async def find(connection: Conn) -> dict[str, list[Days]]:
    """By payer account."""
    rows = await connection.fetch("SELECT payer_account_id, first_day, last_day FROM bank_coverage ORDER BY 1, 2, 3")
    found: dict[str, list[Days]] = {}
    for payer_account_id, first, last in rows:
        found.setdefault(payer_account_id, []).append((first, last))
    return found

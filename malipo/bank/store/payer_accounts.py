"""Our bank accounts."""

from datetime import datetime
from typing import Any

import msgspec

from malipo.bank.payer_account import PayerAccount
from malipo.db import Conn, Tx

_COLUMNS = "id, bic, number, name, format, payout_layout, statement_layout, books_one_sum, urgent_above"
# Any number that no other pair of locks uses: "bank" in ASCII.
_BANK = 0x62616E6B


async def lock(tx: Tx) -> None:
    """Let one act about payout files, bank statements or their lines run at a time, until the commit.

    Each act reads what the others write: a file is voided only if no line of a statement is of it. The lock is taken
    before that of an operator's amounts, and before settlements and wallets.
    """
    await tx.execute("SELECT pg_advisory_xact_lock($1, 0)", _BANK)


async def put(tx: Tx, account: PayerAccount, *, added_by: str, approved_by: str, now: datetime) -> None:
    """Insert an account, or replace what is said of the one with this number. Files that were approved keep theirs."""
    await tx.execute(
        f"""
        INSERT INTO payer_accounts ({_COLUMNS}, added_by, approved_by, added_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        ON CONFLICT (number) DO UPDATE SET
            bic = excluded.bic, name = excluded.name, format = excluded.format, payout_layout = excluded.payout_layout,
            statement_layout = excluded.statement_layout, books_one_sum = excluded.books_one_sum,
            urgent_above = excluded.urgent_above, added_by = excluded.added_by, approved_by = excluded.approved_by,
            added_at = excluded.added_at
        """,
        account.id,
        account.bic,
        account.number,
        account.name,
        account.format,
        account.payout_layout,
        account.statement_layout,
        account.books_one_sum,
        account.urgent_above,
        added_by,
        approved_by,
        now,
    )


async def find_all(connection: Conn) -> list[PayerAccount]:
    rows = await connection.fetch(f"SELECT {_COLUMNS} FROM payer_accounts ORDER BY id")
    return [_account(dict(row)) for row in rows]


def _account(columns: dict[str, Any]) -> PayerAccount:
    return msgspec.convert(columns, PayerAccount)

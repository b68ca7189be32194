"""The SQL of browsers in which a person or an operator has logged in before, and of those that are trusted."""

from datetime import datetime
from typing import Literal

from malipo import ids
from malipo.db import Conn, Tx

AccountColumn = Literal["person_id", "operator_id"]  # the column that names the account


async def is_known(connection: Conn, owner: AccountColumn, account_id: str, browser_hash: bytes) -> bool:
    return bool(
        await connection.fetchval(
            f"SELECT EXISTS (SELECT FROM known_browsers WHERE {owner} = $1 AND hash = $2)", account_id, browser_hash
        )
    )


async def is_known_to_account(connection: Conn, account_id: str, browser_hash: bytes) -> bool:
    """Whether the browser is known to this account, of a person or an operator: the two kinds never share an id."""
    return await is_known(connection, "person_id", account_id, browser_hash) or await is_known(
        connection, "operator_id", account_id, browser_hash
    )


async def remember(
    tx: Tx,
    owner: AccountColumn,
    account_id: str,
    *,
    before: bytes | None,
    after: bytes,
    address: str,
    user_agent: str,
    now: datetime,
) -> None:
    """Replace the hash of a browser after a log-in, for all accounts that have logged in there. Only this account's
    trust moves to the new hash: otherwise a thief with a copied cookie could log in with another account, and get a
    trusted token for the first one."""
    if before is not None:
        await tx.execute(
            f"""
            UPDATE known_browsers SET hash = $2, trusted_until = CASE WHEN {owner} = $3 THEN trusted_until END
            WHERE hash = $1
            """,
            before,
            after,
            account_id,
        )
    await tx.execute(
        f"""
        INSERT INTO known_browsers (id, {owner}, hash, first_seen_at, last_seen_at, user_agent, address)
        VALUES ($1, $2, $3, $4, $4, $5, $6)
        ON CONFLICT ({owner}, hash) WHERE {owner} IS NOT NULL
        DO UPDATE SET last_seen_at = $4, user_agent = $5, address = $6
        """,
        ids.mint("kbr_", now),
        account_id,
        after,
        now,
        user_agent,
        address,
    )


async def forget_all(tx: Tx, owner: AccountColumn, account_id: str) -> None:
    """Forget the known browsers of an account, after a new password."""
    await tx.execute(f"DELETE FROM known_browsers WHERE {owner} = $1", account_id)

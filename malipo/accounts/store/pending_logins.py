"""The SQL of log-ins that wait for a code."""

from datetime import datetime

from malipo.db import Conn, Tx


async def insert_pending_login(
    tx: Tx, token_hash: bytes, account_id: str, *, now: datetime, expires_at: datetime
) -> None:
    await tx.execute("DELETE FROM pending_logins WHERE expires_at <= $1", now)
    await tx.execute(
        "INSERT INTO pending_logins (hash, account_id, created_at, expires_at) VALUES ($1, $2, $3, $4)",
        token_hash,
        account_id,
        now,
        expires_at,
    )


async def find_pending_login(connection: Conn, token_hash: bytes, *, most: int, now: datetime) -> str | None:
    """The account whose log-in waits for a code."""
    found: str | None = await connection.fetchval(
        "SELECT account_id FROM pending_logins WHERE hash = $1 AND expires_at > $2 AND attempts < $3",
        token_hash,
        now,
        most,
    )
    return found


async def note_code_attempt(tx: Tx, token_hash: bytes, *, most: int, now: datetime) -> str | None:
    """Count an attempt, before the code is checked. Returns the account, if the log-in may try another code."""
    found: str | None = await tx.fetchval(
        """
        UPDATE pending_logins SET attempts = attempts + 1 WHERE hash = $1 AND expires_at > $2 AND attempts < $3
        RETURNING account_id
        """,
        token_hash,
        now,
        most,
    )
    return found


async def delete_pending_login(tx: Tx, token_hash: bytes) -> bool:
    """Delete a waiting log-in. Returns whether it existed, so that it becomes one session at most."""
    return await tx.execute("DELETE FROM pending_logins WHERE hash = $1", token_hash) == "DELETE 1"


async def delete_pending_logins_of(tx: Tx, account_id: str) -> None:
    await tx.execute("DELETE FROM pending_logins WHERE account_id = $1", account_id)


async def delete_all_pending_logins(tx: Tx) -> None:
    await tx.execute("DELETE FROM pending_logins")

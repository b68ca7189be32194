"""The SQL of trusted browsers: known browsers that need no code until a time."""

from dataclasses import dataclass
from datetime import datetime

from malipo.db import Conn, Tx

_OF_ACCOUNT = "(person_id = $1 OR operator_id = $1)"


@dataclass(frozen=True, slots=True)
class TrustedBrowser:
    id: str
    trusted_until: datetime
    last_seen_at: datetime
    user_agent: str
    address: str


async def trust(tx: Tx, account_id: str, browser_hash: bytes, *, until: datetime) -> bool:
    """Trust a browser. Returns whether it is known to this account."""
    done = await tx.execute(
        f"UPDATE known_browsers SET trusted_until = $3 WHERE {_OF_ACCOUNT} AND hash = $2",
        account_id,
        browser_hash,
        until,
    )
    return done == "UPDATE 1"


async def is_trusted(connection: Conn, account_id: str, browser_hash: bytes, *, now: datetime) -> bool:
    return bool(
        await connection.fetchval(
            f"SELECT EXISTS (SELECT FROM known_browsers WHERE {_OF_ACCOUNT} AND hash = $2 AND trusted_until > $3)",
            account_id,
            browser_hash,
            now,
        )
    )


async def find_trusted(connection: Conn, account_id: str, *, now: datetime) -> list[TrustedBrowser]:
    rows = await connection.fetch(
        f"""
        SELECT id, trusted_until, last_seen_at, user_agent, address FROM known_browsers
        WHERE {_OF_ACCOUNT} AND trusted_until > $2 ORDER BY last_seen_at DESC LIMIT 50
        """,
        account_id,
        now,
    )
    return [TrustedBrowser(*row.values()) for row in rows]


async def end_trust(tx: Tx, account_id: str, browser_id: str) -> bool:
    """End the trust of a browser. Returns whether it was the account's, and trusted."""
    done = await tx.execute(
        f"UPDATE known_browsers SET trusted_until = NULL WHERE {_OF_ACCOUNT} AND id = $2 AND trusted_until IS NOT NULL",
        account_id,
        browser_id,
    )
    return done == "UPDATE 1"


async def end_all_trust(tx: Tx, account_id: str) -> None:
    await tx.execute(
        f"UPDATE known_browsers SET trusted_until = NULL WHERE {_OF_ACCOUNT} AND trusted_until IS NOT NULL", account_id
    )


async def end_everybodys_trust(tx: Tx) -> None:
    await tx.execute("UPDATE known_browsers SET trusted_until = NULL WHERE trusted_until IS NOT NULL")

"""The SQL of second factors, their recovery codes, and log-ins that wait for a code."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from malipo.db import Conn, Tx


@dataclass(frozen=True, slots=True)
class SecondFactor:
    secret: bytes  # encrypted
    enrolled_at: datetime
    recovery_codes_left: int


async def find(connection: Conn, account_id: str) -> SecondFactor | None:
    row = await connection.fetchrow(
        """
        SELECT secret, enrolled_at,
               (SELECT count(*) FROM recovery_codes r WHERE r.account_id = f.account_id AND r.used_at IS NULL)
        FROM second_factors f WHERE account_id = $1
        """,
        account_id,
    )
    return None if row is None else SecondFactor(*row.values())


async def lock(tx: Tx, account_id: str) -> bool:
    """Lock the second factor. Returns whether there is one. Concurrent changes run one after another."""
    return await tx.fetchval("SELECT true FROM second_factors WHERE account_id = $1 FOR UPDATE", account_id) is not None


async def find_enrolled(connection: Conn, account_ids: Sequence[str]) -> set[str]:
    """The accounts with a second factor."""
    rows = await connection.fetch("SELECT account_id FROM second_factors WHERE account_id = ANY($1)", list(account_ids))
    return {row["account_id"] for row in rows}


async def insert(tx: Tx, account_id: str, secret: bytes, *, used_step: int, now: datetime) -> bool:
    """Store a second factor. Returns whether there was none before. The code that proved the app is used up."""
    done = await tx.execute(
        """
        INSERT INTO second_factors (account_id, secret, enrolled_at, last_step) VALUES ($1, $2, $3, $4)
        ON CONFLICT (account_id) DO NOTHING
        """,
        account_id,
        secret,
        now,
        used_step,
    )
    return done == "INSERT 0 1"


async def use_step(tx: Tx, account_id: str, secret: bytes, step: int) -> bool:
    """Use a code's step. Returns whether no code of this or a later step was used before; of two concurrent uses, one
    is refused."""
    done = await tx.execute(
        "UPDATE second_factors SET last_step = $3 WHERE account_id = $1 AND secret = $2 AND last_step < $3",
        account_id,
        secret,
        step,
    )
    return done == "UPDATE 1"


async def delete(tx: Tx, account_id: str) -> bool:
    """Delete the second factor with its recovery codes. Returns whether there was one."""
    done = await tx.execute("DELETE FROM second_factors WHERE account_id = $1", account_id)
    return done == "DELETE 1"


async def replace_recovery_codes(tx: Tx, account_id: str, hashes: Sequence[bytes]) -> None:
    """Store a new set of recovery codes; earlier ones no longer work."""
    await tx.execute("DELETE FROM recovery_codes WHERE account_id = $1", account_id)
    await tx.executemany(
        "INSERT INTO recovery_codes (account_id, hash) VALUES ($1, $2)", [(account_id, each) for each in hashes]
    )


async def use_recovery_code(tx: Tx, account_id: str, code_hash: bytes, *, now: datetime) -> bool:
    """Use a recovery code. Returns whether it was valid and unused; of two concurrent uses, one is refused."""
    done = await tx.execute(
        "UPDATE recovery_codes SET used_at = $3 WHERE account_id = $1 AND hash = $2 AND used_at IS NULL",
        account_id,
        code_hash,
        now,
    )
    return done == "UPDATE 1"


async def end_everybodys_recovery_codes(tx: Tx, *, now: datetime) -> None:
    await tx.execute("UPDATE recovery_codes SET used_at = $1 WHERE used_at IS NULL", now)


async def find_secrets(tx: Tx) -> list[tuple[str, bytes]]:
    """Lock and return the secrets of all accounts, to encrypt them again."""
    rows = await tx.fetch("SELECT account_id, secret FROM second_factors ORDER BY account_id FOR UPDATE")
    return [(row["account_id"], row["secret"]) for row in rows]


async def set_secret(tx: Tx, account_id: str, secret: bytes) -> None:
    await tx.execute("UPDATE second_factors SET secret = $2 WHERE account_id = $1", account_id, secret)

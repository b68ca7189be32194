"""Sessions and the refresh tokens that prolong them."""

from dataclasses import dataclass
from datetime import datetime

from malipo.accounts.four_eyes import COOLING_TIME
from malipo.db import Conn, Tx
from malipo.merchants.people import Person
from malipo.merchants.store.people import person_of


@dataclass(frozen=True, slots=True)
class MerchantSession:
    id: str
    person: Person
    business: str  # the merchant's name
    confirmed_at: datetime  # when the password was last typed, and the code where there is a second factor
    last_used_at: datetime
    has_second_factor: bool = False
    must_enrol: bool = False  # the merchant requires a second factor, and the person has none
    has_alerts: bool = False  # about log-ins from a new place
    has_resets: bool = False  # a person of the merchant waits for a voucher
    has_awaiting: bool = False  # a batch of the merchant awaits approval


async def insert(
    tx: Tx,
    session_id: str,
    person_id: str,
    *,
    now: datetime,
    confirmed_at: datetime,
    expires_at: datetime,
    address: str,
    user_agent: str,
) -> None:
    await tx.execute(
        """
        INSERT INTO sessions (id, person_id, created_at, last_used_at, confirmed_at, expires_at, address, user_agent)
        VALUES ($1, $2, $3, $3, $4, $5, $6, $7)
        """,
        session_id,
        person_id,
        now,
        confirmed_at,
        expires_at,
        address,
        user_agent,
    )


async def get_live(connection: Conn, session_id: str, *, now: datetime) -> MerchantSession | None:
    """The session with its person; None if it has ended or the merchant is not active."""
    row = await connection.fetchrow(
        """
        SELECT p.id, p.merchant_id, p.email, p.name, p.role, p.password_hash, p.created_at, p.may_approve,
               m.name AS business, m.requires_second_factor, s.confirmed_at, s.last_used_at,
               EXISTS (SELECT FROM second_factors f WHERE f.account_id = p.id) AS has_second_factor,
               EXISTS (SELECT FROM new_place_alerts a WHERE a.account_id = p.id AND a.read_at IS NULL) AS has_alerts,
               EXISTS (SELECT FROM credential_resets r
                       WHERE r.merchant_id = p.merchant_id AND r.vouched_at IS NULL AND r.reset_at > $3) AS has_resets,
               EXISTS (SELECT FROM batches b
                       WHERE b.merchant_id = p.merchant_id AND b.status = 'AWAITING_APPROVAL') AS has_awaiting
        FROM sessions s JOIN people p ON p.id = s.person_id JOIN merchants m ON m.id = p.merchant_id
        WHERE s.id = $1 AND s.ended_at IS NULL AND s.expires_at > $2 AND m.is_active
        """,
        session_id,
        now,
        now - COOLING_TIME,
    )
    if row is None:
        return None
    return MerchantSession(
        session_id,
        person_of(row),
        row["business"],
        row["confirmed_at"],
        row["last_used_at"],
        row["has_second_factor"],
        row["requires_second_factor"] and not row["has_second_factor"],
        row["has_alerts"],
        row["has_resets"],
        row["has_awaiting"],
    )


async def confirm(tx: Tx, session_id: str, *, now: datetime) -> None:
    """Store that the password was typed again."""
    await tx.execute("UPDATE sessions SET confirmed_at = $2, last_used_at = $2 WHERE id = $1", session_id, now)


async def touch(tx: Tx, session_id: str, *, now: datetime) -> None:
    await tx.execute("UPDATE sessions SET last_used_at = $2 WHERE id = $1", session_id, now)


async def end(tx: Tx, session_id: str, *, now: datetime) -> None:
    await tx.execute("UPDATE sessions SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL", session_id, now)


async def end_all(tx: Tx, *, now: datetime, person_id: str | None = None, merchant_id: str | None = None) -> None:
    """End every session of a person, or of all people of a merchant."""
    await tx.execute(
        """
        UPDATE sessions SET ended_at = $1
        WHERE ended_at IS NULL
          AND person_id IN (SELECT id FROM people WHERE id = $2 OR merchant_id = $3)
        """,
        now,
        person_id,
        merchant_id,
    )


async def end_everybodys(tx: Tx, *, now: datetime) -> None:
    await tx.execute("UPDATE sessions SET ended_at = $1 WHERE ended_at IS NULL", now)


async def insert_refresh(tx: Tx, token_hash: bytes, session_id: str, *, now: datetime) -> None:
    await tx.execute(
        "INSERT INTO refresh_tokens (hash, session_id, created_at) VALUES ($1, $2, $3)", token_hash, session_id, now
    )


async def use_refresh(tx: Tx, token_hash: bytes, *, now: datetime) -> tuple[str, bool] | None:
    """Use a refresh token. Returns its session, and whether this is the first use; of two at once, one is the first."""
    row = await tx.fetchrow("SELECT session_id, used_at FROM refresh_tokens WHERE hash = $1 FOR UPDATE", token_hash)
    if row is None:
        return None
    if row["used_at"] is None:
        await tx.execute("UPDATE refresh_tokens SET used_at = $2 WHERE hash = $1", token_hash, now)
        await tx.execute("UPDATE sessions SET last_used_at = $2 WHERE id = $1", row["session_id"], now)
    return row["session_id"], row["used_at"] is None


@dataclass(frozen=True, slots=True)
class LiveMerchantSession:
    id: str
    created_at: datetime
    last_used_at: datetime
    address: str
    user_agent: str


async def find_sessions(connection: Conn, person_id: str, *, now: datetime, most: int) -> list[LiveMerchantSession]:
    """The sessions of a person that have not ended, the latest first."""
    rows = await connection.fetch(
        """
        SELECT id, created_at, last_used_at, address, user_agent FROM sessions
        WHERE person_id = $1 AND ended_at IS NULL AND expires_at > $2 ORDER BY created_at DESC, id DESC LIMIT $3
        """,
        person_id,
        now,
        most,
    )
    return [LiveMerchantSession(*row.values()) for row in rows]


async def count_live(connection: Conn, person_id: str, *, now: datetime) -> int:
    return int(
        await connection.fetchval(
            "SELECT count(*) FROM sessions WHERE person_id = $1 AND ended_at IS NULL AND expires_at > $2",
            person_id,
            now,
        )
    )


async def end_session(tx: Tx, person_id: str, session_id: str, *, now: datetime) -> bool:
    """End a session. Returns whether it was the person's, and had not ended."""
    done = await tx.execute(
        "UPDATE sessions SET ended_at = $3 WHERE person_id = $1 AND id = $2 AND ended_at IS NULL AND expires_at > $3",
        person_id,
        session_id,
        now,
    )
    return done == "UPDATE 1"


async def find_others(connection: Conn, person_id: str, kept_id: str) -> list[str]:
    """The ids of all other sessions of a person, ended or not."""
    rows = await connection.fetch("SELECT id FROM sessions WHERE person_id = $1 AND id <> $2", person_id, kept_id)
    return [row["id"] for row in rows]


async def end_other_sessions(tx: Tx, person_id: str, kept_id: str, *, now: datetime) -> int:
    """End all sessions of a person but one. Returns their number."""
    done = await tx.execute(
        "UPDATE sessions SET ended_at = $3 WHERE person_id = $1 AND id <> $2 AND ended_at IS NULL AND expires_at > $3",
        person_id,
        kept_id,
        now,
    )
    return int(done.removeprefix("UPDATE "))

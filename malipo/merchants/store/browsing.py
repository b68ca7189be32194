"""What a person sees of who is logged in and of who did what: lists for the dashboard, by key."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import msgspec

from malipo.db import Conn, Tx
from malipo.trail.store import Deed

_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class LiveSession:
    id: str
    created_at: datetime
    expires_at: datetime
    address: str
    user_agent: str


async def find_sessions(connection: Conn, person_id: str, *, now: datetime, most: int) -> list[LiveSession]:
    """The sessions of a person that have not ended, the latest first."""
    rows = await connection.fetch(
        """
        SELECT id, created_at, expires_at, address, user_agent FROM sessions
        WHERE person_id = $1 AND ended_at IS NULL AND expires_at > $2 ORDER BY id DESC LIMIT $3
        """,
        person_id,
        now,
        most,
    )
    return [LiveSession(*row.values()) for row in rows]


async def end_session(tx: Tx, person_id: str, session_id: str, *, now: datetime) -> bool:
    """Whether it was theirs, and had not ended."""
    done = await tx.execute(
        "UPDATE sessions SET ended_at = $3 WHERE person_id = $1 AND id = $2 AND ended_at IS NULL AND expires_at > $3",
        person_id,
        session_id,
        now,
    )
    return done == "UPDATE 1"


async def end_other_sessions(tx: Tx, person_id: str, kept_id: str, *, now: datetime) -> int:
    """How many have ended: all of a person's but one."""
    done = await tx.execute(
        "UPDATE sessions SET ended_at = $3 WHERE person_id = $1 AND id <> $2 AND ended_at IS NULL AND expires_at > $3",
        person_id,
        kept_id,
        now,
    )
    return int(done.removeprefix("UPDATE "))


async def find_deeds(
    connection: Conn, merchant_id: str, *, kinds: Collection[str], before: str | None, limit: int
) -> list[Deed]:
    """What was done at a merchant's, of these kinds, the latest first; `before` is the last one that was seen."""
    rows = await connection.fetch(
        """
        SELECT id, at, who, origin, what, merchant_id, details FROM audit
        WHERE merchant_id = $1 AND what = ANY($2::text[]) AND ($3::text IS NULL OR id < $3)
        ORDER BY id DESC LIMIT $4
        """,
        merchant_id,
        list(kinds),
        before,
        limit,
    )
    return [
        Deed(row["id"], row["at"], row["who"], row["origin"], row["what"], row["merchant_id"], _decode(row["details"]))
        for row in rows
    ]

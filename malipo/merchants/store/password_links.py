"""One-time links by which people choose a password. A link lives no longer than the session in which it was made."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from malipo.db import Conn, Tx
from malipo.merchants.people import Person
from malipo.merchants.store.people import person_of

# A link ends with the session in which it was made, however that ended; an expired session does not count as ended. One
# that was sent by e-mail outlives a log-out: its maker has never seen it. The operator who made it must still exist. If
# the person who made it is deleted, the row is deleted too.
_WORKS = """
    l.hash = $1 AND l.used_at IS NULL AND l.ended_at IS NULL AND l.expires_at > $2
    AND (l.message_id IS NOT NULL
         OR NOT EXISTS (SELECT FROM sessions s WHERE s.id = l.made_in_session AND s.ended_at IS NOT NULL))
    AND (l.made_by_operator IS NULL OR l.made_by_operator NOT LIKE 'operator %'
         OR EXISTS (SELECT FROM operators o WHERE 'operator ' || o.name = l.made_by_operator))
"""


@dataclass(frozen=True, slots=True)
class Maker:
    """The maker of a link: a person in a session, or an operator by name."""

    person_id: str | None = None
    session_id: str | None = None
    operator: str | None = None


async def insert(
    tx: Tx,
    link_hash: bytes,
    person_id: str,
    maker: Maker,
    *,
    now: datetime,
    expires_at: datetime,
    message_id: str | None = None,
) -> None:
    """Store a new link; earlier ones no longer work, except those of other attempts to send the same message."""
    await tx.execute(
        """
        UPDATE password_links SET ended_at = $2
        WHERE person_id = $1 AND used_at IS NULL AND ended_at IS NULL AND message_id IS DISTINCT FROM coalesce($3, '')
        """,
        person_id,
        now,
        message_id,
    )
    await tx.execute(
        """
        INSERT INTO password_links
            (hash, person_id, created_at, expires_at, made_by_person, made_in_session, made_by_operator, message_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        link_hash,
        person_id,
        now,
        expires_at,
        maker.person_id,
        maker.session_id,
        maker.operator,
        message_id,
    )


async def is_maker_there(connection: Conn, maker: Maker) -> bool:
    """Whether the person with the session, or the operator, still exists."""
    return bool(
        await connection.fetchval(
            """
            SELECT CASE WHEN $1::text IS NULL
                THEN $3 NOT LIKE 'operator %' OR EXISTS (SELECT FROM operators o WHERE 'operator ' || o.name = $3)
                ELSE EXISTS (SELECT FROM sessions s WHERE s.person_id = $1 AND s.id = $2) END
            """,
            maker.person_id,
            maker.session_id,
            maker.operator,
        )
    )


async def end_made_in(tx: Tx, session_ids: Sequence[str], *, now: datetime) -> None:
    """End the links that were made in sessions which somebody has ended on purpose."""
    await tx.execute(
        """
        UPDATE password_links SET ended_at = $2
        WHERE made_in_session = ANY($1::text[]) AND used_at IS NULL AND ended_at IS NULL
        """,
        list(session_ids),
        now,
    )


async def find(connection: Conn, link_hash: bytes, *, now: datetime) -> Person | None:
    """The person of a link that still works."""
    row = await connection.fetchrow(
        f"""
        SELECT p.id, p.merchant_id, p.email, p.name, p.role, p.password_hash, p.created_at, p.may_approve
        FROM people p JOIN password_links l ON l.person_id = p.id WHERE {_WORKS}
        """,
        link_hash,
        now,
    )
    return person_of(row) if row else None


async def use(tx: Tx, link_hash: bytes, *, now: datetime) -> bool:
    done = await tx.execute(f"UPDATE password_links l SET used_at = $2 WHERE {_WORKS}", link_hash, now)
    return done == "UPDATE 1"


async def find_unnoted_operator(tx: Tx, link_hash: bytes) -> str | None:
    """The operator who made the link, if no reset was stored when it was made, so that nobody must vouch for it so
    far."""
    maker: str | None = await tx.fetchval(
        """
        SELECT l.made_by_operator FROM password_links l JOIN people p ON p.id = l.person_id
        WHERE l.hash = $1 AND NOT EXISTS (
            SELECT FROM credential_resets r
            WHERE r.merchant_id = p.merchant_id AND r.email = p.email AND r.credential = 'password'
              AND r.reset_by = l.made_by_operator AND r.reset_at >= l.created_at)
        """,
        link_hash,
    )
    return maker


async def lock_all(tx: Tx, person_id: str) -> None:
    """Lock the links for a person, and those that the person made, until the commit. Always after the person, and in
    one order, so that two people who made links for each other and change their passwords at once do not deadlock."""
    await tx.execute(
        """
        SELECT FROM password_links
        WHERE (person_id = $1 OR made_by_person = $1) AND used_at IS NULL AND ended_at IS NULL ORDER BY hash FOR UPDATE
        """,
        person_id,
    )


async def end_all(tx: Tx, person_id: str, *, now: datetime) -> None:
    """End the links for a person, and those that the person made."""
    await lock_all(tx, person_id)
    await tx.execute(
        """
        UPDATE password_links SET ended_at = $2
        WHERE (person_id = $1 OR made_by_person = $1) AND used_at IS NULL AND ended_at IS NULL
        """,
        person_id,
        now,
    )


async def end_everybodys(tx: Tx, *, now: datetime) -> None:
    await tx.execute("UPDATE password_links SET ended_at = $1 WHERE used_at IS NULL AND ended_at IS NULL", now)

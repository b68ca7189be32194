"""The SQL of assignments: who looks after which case or exception, and until when."""

from collections.abc import Collection
from datetime import date, datetime
from typing import NamedTuple

from malipo.db import Conn, Tx

_LOCK = 0x61736773  # "asgs" in ASCII: any number that no other pair of locks uses


class Assignment(NamedTuple):
    subject: str
    owner: str | None  # an operator's name; None: only the day is set
    due_on: date | None


async def lock(tx: Tx, subject: str) -> Assignment | None:
    """Lock it until the commit; also if there is no row yet, so that two who assign at once are one after the other."""
    await tx.execute("SELECT pg_advisory_xact_lock($1, hashtext($2))", _LOCK, subject)
    return (await find(tx, [subject])).get(subject)


async def find(connection: Conn, subjects: Collection[str]) -> dict[str, Assignment]:
    rows = await connection.fetch(
        "SELECT subject, owner, due_on FROM assignments WHERE subject = ANY($1::text[])", list(subjects)
    )
    return {row["subject"]: Assignment(*row.values()) for row in rows}


async def find_of(connection: Conn, owner: str) -> list[Assignment]:
    """What an operator looks after, what is due first first. Also what has been decided since."""
    rows = await connection.fetch(
        "SELECT subject, owner, due_on FROM assignments WHERE owner = $1 ORDER BY due_on NULLS LAST, subject", owner
    )
    return [Assignment(*row.values()) for row in rows]


async def find_due(connection: Conn, *, until: date) -> list[Assignment]:
    """Assignments that are due on this day or were due before, of all operators."""
    rows = await connection.fetch(
        "SELECT subject, owner, due_on FROM assignments WHERE due_on <= $1 ORDER BY due_on, subject", until
    )
    return [Assignment(*row.values()) for row in rows]


async def put(tx: Tx, assignment: Assignment, merchant_id: str | None, *, set_by: str, now: datetime) -> None:
    await tx.execute(
        """
        INSERT INTO assignments (subject, merchant_id, owner, due_on, set_by, set_at) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (subject) DO UPDATE SET owner = $3, due_on = $4, set_by = $5, set_at = $6
        """,
        assignment.subject,
        merchant_id,
        assignment.owner,
        assignment.due_on,
        set_by,
        now,
    )


async def delete(tx: Tx, subject: str) -> None:
    await tx.execute("DELETE FROM assignments WHERE subject = $1", subject)

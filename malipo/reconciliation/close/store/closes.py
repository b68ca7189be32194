"""The SQL of closed days, and of proposals to close one that does not add up."""

from datetime import date, datetime

import msgspec

from malipo.db import Conn, Row, Tx
from malipo.reconciliation.close.signature import ClosedDay

_COLUMNS = ClosedDay.__struct_fields__
_NAMES = ", ".join(_COLUMNS)


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    day: date
    hash: bytes
    without: tuple[str, ...]
    reason: str
    requested_by: str
    requested_at: datetime


_PROPOSED = ", ".join(Proposal.__struct_fields__)


async def insert(tx: Tx, closed: ClosedDay) -> None:
    places = ", ".join(f"${number}" for number in range(1, len(_COLUMNS) + 1))
    await tx.execute(
        f"INSERT INTO day_closes ({_NAMES}) VALUES ({places})", *(getattr(closed, each) for each in _COLUMNS)
    )


async def find(connection: Conn, day: date) -> ClosedDay | None:
    row = await connection.fetchrow(f"SELECT {_NAMES} FROM day_closes WHERE day = $1", day)
    return None if row is None else _closed(row)


async def find_first_day(connection: Conn) -> date | None:
    day: date | None = await connection.fetchval("SELECT min(day) FROM day_closes")
    return day


async def find_latest(connection: Conn, *, limit: int) -> list[ClosedDay]:
    """The latest first."""
    rows = await connection.fetch(f"SELECT {_NAMES} FROM day_closes ORDER BY day DESC LIMIT $1", limit)
    return [_closed(row) for row in rows]


async def find_after(connection: Conn, day: date | None, *, limit: int) -> list[ClosedDay]:
    """The next ones in the order of the chain."""
    rows = await connection.fetch(
        f"SELECT {_NAMES} FROM day_closes WHERE $1::date IS NULL OR day > $1 ORDER BY day LIMIT $2", day, limit
    )
    return [_closed(row) for row in rows]


async def find_noted(connection: Conn) -> list[tuple[date, str]]:
    """The days that the audit log says were closed, and their hashes."""
    rows = await connection.fetch(
        """
        SELECT details ->> 'day' AS day, details ->> 'hash' AS hash FROM audit_log WHERE action = 'day.closed'
        ORDER BY id
        """
    )
    return [(date.fromisoformat(row["day"]), row["hash"]) for row in rows]


async def insert_proposal(tx: Tx, proposal: Proposal) -> None:
    await tx.execute(
        f"INSERT INTO day_close_proposals ({_PROPOSED}) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        proposal.id,
        proposal.day,
        proposal.hash,
        list(proposal.without),
        proposal.reason,
        proposal.requested_by,
        proposal.requested_at,
    )


async def find_proposal(connection: Conn, day: date) -> Proposal | None:
    """The open one."""
    row = await connection.fetchrow(
        f"SELECT {_PROPOSED} FROM day_close_proposals WHERE day = $1 AND decided_at IS NULL", day
    )
    return None if row is None else _proposal(row)


async def find_proposals(connection: Conn) -> list[Proposal]:
    """The open ones, the oldest first."""
    rows = await connection.fetch(f"SELECT {_PROPOSED} FROM day_close_proposals WHERE decided_at IS NULL ORDER BY day")
    return [_proposal(row) for row in rows]


async def end_proposal(tx: Tx, proposal_id: str, *, decided_by: str, is_approved: bool, now: datetime) -> None:
    await tx.execute(
        "UPDATE day_close_proposals SET decided_by = $2, is_approved = $3, decided_at = $4 WHERE id = $1",
        proposal_id,
        decided_by,
        is_approved,
        now,
    )


def _closed(row: Row) -> ClosedDay:
    return ClosedDay(**dict(row))


def _proposal(row: Row) -> Proposal:
    return Proposal(**dict(row) | {"without": tuple(row["without"])})

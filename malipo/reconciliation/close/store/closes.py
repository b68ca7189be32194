"""The SQL of closed days, and of proposals to close a day that does not add up."""

from datetime import date, datetime

import msgspec

from malipo.approvals import store as proposals
from malipo.approvals.act_rules import Act
from malipo.approvals.store import Proposal
from malipo.db import Conn, Row, Tx
from malipo.reconciliation.close.closed_day import ClosedDay

_COLUMNS = ClosedDay.__struct_fields__
_NAMES = ", ".join(_COLUMNS)


class CloseTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The terms of a proposal to close a day; its reason is stored beside them."""

    hash: str  # of the proposed close: if it differs at the approval, the close must be proposed again
    without: tuple[str, ...]  # channels without a statement
    differences: tuple[str, ...] = ()  # the lines that the proposer was shown; empty if an earlier version proposed it


class ProposedClose(CloseTerms, frozen=True, kw_only=True):
    id: str
    day: date
    reason: str
    requested_by: str
    requested_at: datetime


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
    """The latest closed days, newest first."""
    rows = await connection.fetch(f"SELECT {_NAMES} FROM day_closes ORDER BY day DESC LIMIT $1", limit)
    return [_closed(row) for row in rows]


async def find_after(connection: Conn, day: date | None, *, limit: int) -> list[ClosedDay]:
    """The closed days after this one, in the order of the chain."""
    rows = await connection.fetch(
        f"SELECT {_NAMES} FROM day_closes WHERE $1::date IS NULL OR day > $1 ORDER BY day LIMIT $2", day, limit
    )
    return [_closed(row) for row in rows]


async def find_noted(connection: Conn) -> list[tuple[date, str]]:
    """The closed days in the audit log, with their hashes."""
    rows = await connection.fetch(
        """
        SELECT details ->> 'day' AS day, details ->> 'hash' AS hash FROM audit_log WHERE action = 'day.closed'
        ORDER BY id
        """
    )
    return [(date.fromisoformat(row["day"]), row["hash"]) for row in rows]


async def find_proposal(connection: Conn, day: date) -> ProposedClose | None:
    """The open proposal for this day."""
    return next((each for each in await find_proposals(connection) if each.day == day), None)


async def find_proposals(connection: Conn) -> list[ProposedClose]:
    """The open proposals, oldest first."""
    found = [proposed_close(each) for each in await proposals.find_open(connection, [Act.CLOSE_WITH_DIFFERENCE])]
    return sorted(found, key=lambda each: each.day)


def proposed_close(proposal: Proposal) -> ProposedClose:
    return ProposedClose(
        id=proposal.id,
        day=date.fromisoformat(proposal.subject),
        reason=proposal.reason,
        requested_by=proposal.requested_by,
        requested_at=proposal.requested_at,
        **msgspec.structs.asdict(proposal.terms_as(CloseTerms)),
    )


def _closed(row: Row) -> ClosedDay:
    return ClosedDay(**dict(row))

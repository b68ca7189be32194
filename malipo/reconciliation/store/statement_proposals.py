"""The SQL of what operators propose about a statement: to withdraw it, or to undo one of its bookings."""

from datetime import datetime
from enum import StrEnum

import msgspec

from malipo.db import Conn, Row, Tx


class ProposedAction(StrEnum):
    WITHDRAW = "withdraw"  # the whole import
    UNDO = "undo"  # one booking: the fees or the sweeps of a day


class StatementProposal(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    action: ProposedAction
    file_id: str
    booking_id: str | None = None
    amount: int
    reason: str
    requested_by: str
    requested_at: datetime
    decided_by: str | None = None
    decided_at: datetime | None = None
    is_approved: bool | None = None

    @property
    def subject(self) -> str:
        """What it is about: the id of a file, or of a booking."""
        return self.booking_id or self.file_id


_COLUMNS = ", ".join(StatementProposal.__struct_fields__)


async def insert(tx: Tx, proposal: StatementProposal) -> None:
    await tx.execute(
        """
        INSERT INTO statement_proposals (id, action, file_id, booking_id, amount, reason, requested_by, requested_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        proposal.id,
        proposal.action,
        proposal.file_id,
        proposal.booking_id,
        proposal.amount,
        proposal.reason,
        proposal.requested_by,
        proposal.requested_at,
    )


async def end(tx: Tx, proposal_id: str, *, by: str, is_approved: bool, now: datetime) -> None:
    await tx.execute(
        "UPDATE statement_proposals SET decided_by = $2, decided_at = $3, is_approved = $4 WHERE id = $1",
        proposal_id,
        by,
        now,
        is_approved,
    )


async def find_open_of(tx: Tx, subject: str) -> StatementProposal | None:
    """About a file or a booking, held until the commit: two operators may decide at once."""
    row = await tx.fetchrow(
        f"""
        SELECT {_COLUMNS} FROM statement_proposals
        WHERE coalesce(booking_id, file_id) = $1 AND decided_at IS NULL FOR UPDATE
        """,
        subject,
    )
    return None if row is None else _proposal(row)


async def find(connection: Conn, file_id: str) -> list[StatementProposal]:
    """All that was ever proposed about a file and its bookings, the oldest first."""
    rows = await connection.fetch(f"SELECT {_COLUMNS} FROM statement_proposals WHERE file_id = $1 ORDER BY id", file_id)
    return [_proposal(row) for row in rows]


async def find_open(connection: Conn) -> list[StatementProposal]:
    """Those that wait for another operator, the oldest first."""
    rows = await connection.fetch(f"SELECT {_COLUMNS} FROM statement_proposals WHERE decided_at IS NULL ORDER BY id")
    return [_proposal(row) for row in rows]


def _proposal(row: Row) -> StatementProposal:
    return msgspec.convert(dict(row), StatementProposal)

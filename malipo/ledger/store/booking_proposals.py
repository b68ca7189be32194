"""Bookings that wait for a second operator."""

from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Row, Tx

# Any number that no other pair of locks uses: "book" in ASCII.
_BOOKINGS = 0x626F6F6B

ID_PREFIX = "bok_"
TRANSFER_ID_PREFIX = "hbk_"  # of transfers between a network and the bank, which are house bookings

_COLUMNS = """
    id, merchant_id, kind, bank_reference, amount, requested_by, requested_at, decided_by, is_approved, channel, account
"""


class Proposal(NamedTuple):
    id: str  # and its booking's, once it is approved
    merchant_id: str | None  # None: a transfer of the house
    kind: str
    bank_reference: str
    amount: int
    requested_by: str
    requested_at: datetime
    decided_by: str | None = None
    is_approved: bool | None = None
    channel: str | None = None  # of a transfer
    account: str | None = None


def _proposal_of(row: Row) -> Proposal:
    return Proposal(*row.values())


async def lock_booking(tx: Tx, kind: str, bank_reference: str) -> None:
    """Until the commit nobody else proposes or books this reference. There may be no row to lock yet."""
    await tx.execute("SELECT pg_advisory_xact_lock($1, hashtext($2))", _BOOKINGS, f"{kind} {bank_reference}")


async def find_open(connection: Conn, kind: str, bank_reference: str) -> Proposal | None:
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM booking_proposals WHERE kind = $1 AND bank_reference = $2 AND decided_at IS NULL",
        kind,
        bank_reference,
    )
    return None if row is None else _proposal_of(row)


async def find_all_open(connection: Conn) -> list[Proposal]:
    """The oldest first."""
    rows = await connection.fetch(f"SELECT {_COLUMNS} FROM booking_proposals WHERE decided_at IS NULL ORDER BY id")
    return [_proposal_of(row) for row in rows]


async def lock_open(tx: Tx, id_or_reference: str) -> list[Proposal]:
    """The open proposals with this id or reference, held until the commit. A top-up and a settlement may share one."""
    rows = await tx.fetch(
        f"""
        SELECT {_COLUMNS} FROM booking_proposals WHERE {_column_of(id_or_reference)} = $1 AND decided_at IS NULL
        ORDER BY id FOR UPDATE
        """,
        id_or_reference,
    )
    return [_proposal_of(row) for row in rows]


def _column_of(id_or_reference: str) -> str:
    """What looks like an id is one, so that no reference of that form can be mistaken for a proposal's id."""
    return "id" if id_or_reference.startswith((ID_PREFIX, TRANSFER_ID_PREFIX)) else "bank_reference"


async def find_last(connection: Conn, id_or_reference: str) -> Proposal | None:
    row = await connection.fetchrow(
        f"""
        SELECT {_COLUMNS} FROM booking_proposals WHERE {_column_of(id_or_reference)} = $1 ORDER BY id DESC LIMIT 1
        """,
        id_or_reference,
    )
    return None if row is None else _proposal_of(row)


async def insert(tx: Tx, proposal: Proposal) -> None:
    await tx.execute(
        """
        INSERT INTO booking_proposals (
            id, merchant_id, kind, bank_reference, amount, requested_by, requested_at, channel, account
        ) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        """,
        *proposal[:7],
        proposal.channel,
        proposal.account,
    )


async def end(tx: Tx, proposal_id: str, *, decided_by: str, is_approved: bool, now: datetime) -> None:
    await tx.execute(
        "UPDATE booking_proposals SET decided_by = $2, decided_at = $3, is_approved = $4 WHERE id = $1",
        proposal_id,
        decided_by,
        now,
        is_approved,
    )


async def is_booked(connection: Conn, kind: str, bank_reference: str) -> bool:
    return bool(
        await connection.fetchval(
            "SELECT EXISTS (SELECT FROM bookings WHERE kind = $1 AND bank_reference = $2)", kind, bank_reference
        )
    )

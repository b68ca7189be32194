"""The SQL of resolutions of exceptions. An open proposal is a resolution that is not applied yet."""

import msgspec

from malipo.approvals import store as proposals
from malipo.approvals.act_rules import EXCEPTION_ACTIONS, EXCEPTION_UNDOS
from malipo.approvals.store import Proposal
from malipo.db import Conn, Tx
from malipo.reconciliation.exceptions.action import ActionTerms, Resolution
from malipo.reconciliation.matching.exception import is_exception_id

ACTS = (*EXCEPTION_ACTIONS, *EXCEPTION_UNDOS)

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, str]).decode

_COLUMNS = ", ".join(Resolution.__struct_fields__)


async def insert(tx: Tx, resolution: Resolution) -> None:
    """Store a resolution that was applied."""
    await tx.execute(
        """
        INSERT INTO exception_resolutions (id, exception_id, action, terms, reason, amount, requested_by, requested_at,
                                           decided_by, decided_at, is_approved, booking_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        """,
        resolution.id,
        resolution.exception_id,
        resolution.action,
        _encode(resolution.terms).decode(),
        resolution.reason,
        resolution.amount,
        resolution.requested_by,
        resolution.requested_at,
        resolution.decided_by,
        resolution.decided_at,
        resolution.is_approved,
        resolution.booking_id,
    )


async def set_undone(tx: Tx, resolution_id: str, *, by: str) -> None:
    await tx.execute("UPDATE exception_resolutions SET undone_by = $2 WHERE id = $1", resolution_id, by)


async def find(connection: Conn, exception_id: str) -> list[Resolution]:
    """All proposals and resolutions of an exception, the oldest first."""
    rows = await connection.fetch(f"SELECT {_COLUMNS} FROM exception_resolutions WHERE exception_id = $1", exception_id)
    done = [msgspec.convert(dict(row) | {"terms": _decode(row["terms"])}, Resolution) for row in rows]
    proposed = [each for each in await proposals.find_of(connection, ACTS, exception_id) if not each.is_approved]
    return sorted([*done, *map(proposed_resolution, proposed)], key=lambda each: each.id)


async def find_open(connection: Conn) -> list[Resolution]:
    """Resolutions that wait for another operator, the oldest first."""
    found = await proposals.find_open(connection, ACTS)
    return [proposed_resolution(each) for each in found if is_exception_id(each.subject)]


async def find_proposal(connection: Conn, exception_id: str) -> Proposal | None:
    """The open proposal about an exception."""
    found = await proposals.find_of(connection, ACTS, exception_id)
    return next((each for each in found if each.decided_at is None), None)


def proposed_resolution(proposal: Proposal) -> Resolution:
    terms = proposal.terms_as(ActionTerms)
    return Resolution(
        id=proposal.id,
        exception_id=proposal.subject,
        action=terms.action,
        terms=terms.terms,
        reason=proposal.reason,
        amount=proposal.amount,
        requested_by=proposal.requested_by,
        requested_at=proposal.requested_at,
        decided_by=proposal.decided_by,
        decided_at=proposal.decided_at,
        is_approved=proposal.is_approved,
    )

"""Proposals about a statement: to withdraw it, or to undo one of its bookings."""

from datetime import datetime
from enum import StrEnum

import msgspec

from malipo.approvals import store as proposals
from malipo.approvals.act_rules import STATEMENT_UNDOS, WITHDRAWALS
from malipo.approvals.store import Proposal
from malipo.db import Conn


class ProposedAction(StrEnum):
    WITHDRAW = "withdraw"  # the whole import
    UNDO = "undo"  # one booking: the fees or the sweeps of a day


class StatementTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The terms of a proposal; its reason is stored beside them."""

    file_id: str
    booking_id: str | None = None


class StatementProposal(StatementTerms, frozen=True, kw_only=True):
    id: str
    action: ProposedAction
    amount: int
    reason: str
    requested_by: str
    requested_at: datetime
    decided_by: str | None = None
    decided_at: datetime | None = None
    is_approved: bool | None = None

    @property
    def subject(self) -> str:
        """The subject: the id of a file, or of a booking."""
        return self.booking_id or self.file_id


async def find(connection: Conn, file_id: str) -> list[StatementProposal]:
    """All proposals about a file and its bookings, the oldest first."""
    return [of(each) for each in await proposals.find_with_term(connection, STATEMENT_UNDOS, "file_id", file_id)]


async def find_waiting(connection: Conn, file_id: str) -> list[Proposal]:
    """The open proposals about a file and its bookings."""
    found = await proposals.find_with_term(connection, STATEMENT_UNDOS, "file_id", file_id)
    return [each for each in found if each.decided_at is None]


async def find_open(connection: Conn) -> list[StatementProposal]:
    """All open proposals, the oldest first."""
    return [of(each) for each in await proposals.find_open(connection, STATEMENT_UNDOS)]


def of(proposal: Proposal) -> StatementProposal:
    return StatementProposal(
        id=proposal.id,
        action=ProposedAction.WITHDRAW if proposal.action in WITHDRAWALS else ProposedAction.UNDO,
        amount=proposal.amount,
        reason=proposal.reason,
        requested_by=proposal.requested_by,
        requested_at=proposal.requested_at,
        decided_by=proposal.decided_by,
        decided_at=proposal.decided_at,
        is_approved=proposal.is_approved,
        **msgspec.structs.asdict(proposal.terms_as(StatementTerms)),
    )

"""The SQL of proposals, of the amounts that operators move alone, and of the service's stored limits."""

from collections.abc import Collection
from datetime import date, datetime
from typing import TypeVar

import msgspec

from malipo.approvals.act_rules import Act
from malipo.db import Conn, Row, Tx
from malipo.errors import ensure

ActTerms = TypeVar("ActTerms")

# Any number that no other pair of locks uses: "alon" in ASCII.
_ALONE = 0x616C6F6E
_LIMITS_LOCK = 0x6C696D69  # "limi"
_LIMITS = "booking_approval_amount, second_factor, credit_by_itself, bank_holidays"


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal that waits, or waited, for a second operator."""

    id: str
    action: Act
    subject: str  # the id of the thing that it is about
    amount: int  # that it moves
    terms: str = "{}"  # the details of the act as JSON: a struct of the act's own package
    reason: str = ""  # why, or the evidence for it, in the proposer's words
    requested_by: str
    requested_at: datetime
    decided_by: str | None = None
    decided_at: datetime | None = None
    is_approved: bool | None = None
    is_single_operator: bool = False  # the only operator has approved it alone: --alone

    def terms_as(self, type_: type[ActTerms]) -> ActTerms:
        return msgspec.json.decode(self.terms, type=type_)


class OperatorLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of operators with which the service last started, and the holidays by which they wait for banks."""

    booking_approval_amount: int
    second_factor: str
    credit_by_itself: bool = True
    bank_holidays: tuple[date, ...] = ()


_COLUMNS = ", ".join(Proposal.__struct_fields__)


async def lock_operator(tx: Tx, name: str) -> None:
    await tx.execute("SELECT pg_advisory_xact_lock($1, hashtext($2))", _ALONE, name)


async def find_limits(connection: Conn) -> OperatorLimits | None:
    """The stored limits; None if the service has not started since they are stored."""
    return _limits(await connection.fetchrow(f"SELECT {_LIMITS} FROM operator_limits"))


async def lock_limits(tx: Tx) -> OperatorLimits | None:
    """Lock the stored limits until the commit, so that no other process stores its own."""
    await tx.execute("SELECT pg_advisory_xact_lock($1, 0)", _LIMITS_LOCK)
    return await find_limits(tx)


async def put_limits(tx: Tx, limits: OperatorLimits, *, now: datetime) -> None:
    await tx.execute(
        """
        INSERT INTO operator_limits (booking_approval_amount, second_factor, credit_by_itself, bank_holidays, noted_at)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (is_only) DO UPDATE
        SET booking_approval_amount = $1, second_factor = $2, credit_by_itself = $3, bank_holidays = $4, noted_at = $5
        """,
        limits.booking_approval_amount,
        limits.second_factor,
        limits.credit_by_itself,
        list(limits.bank_holidays),
        now,
    )


def _limits(row: Row | None) -> OperatorLimits | None:
    return None if row is None else msgspec.convert(dict(row), OperatorLimits)


async def sum_moved_alone(connection: Conn, operator: str, *, since: datetime) -> int:
    return int(
        await connection.fetchval(
            "SELECT coalesce(sum(amount), 0) FROM moved_alone WHERE operator = $1 AND moved_at > $2", operator, since
        )
    )


async def insert_moved_alone(tx: Tx, operator: str, act: Act, amount: int, *, subject: str, now: datetime) -> None:
    await tx.execute(
        "INSERT INTO moved_alone (operator, action, subject, amount, moved_at) VALUES ($1, $2, $3, $4, $5)",
        operator,
        act,
        subject,
        amount,
        now,
    )


async def insert(tx: Tx, proposal: Proposal) -> None:
    await tx.execute(
        """
        INSERT INTO proposals (id, action, subject, amount, terms, reason, requested_by, requested_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        proposal.id,
        proposal.action,
        proposal.subject,
        proposal.amount,
        proposal.terms,
        proposal.reason,
        proposal.requested_by,
        proposal.requested_at,
    )


async def set_amount(tx: Tx, proposal_id: str, amount: int) -> None:
    await tx.execute("UPDATE proposals SET amount = $2 WHERE id = $1", proposal_id, amount)


async def set_proposer(tx: Tx, proposal_id: str, requested_by: str, *, now: datetime) -> None:
    await tx.execute(
        "UPDATE proposals SET requested_by = $2, requested_at = $3 WHERE id = $1 AND decided_at IS NULL",
        proposal_id,
        requested_by,
        now,
    )


async def lock_open(tx: Tx, acts: Collection[Act], subject: str) -> list[Proposal]:
    """Lock the open proposals about a subject until the commit, because two operators may decide at once."""
    return await _find(tx, "action = ANY($1) AND subject = $2 AND decided_at IS NULL", list(acts), subject, lock=True)


async def lock_open_with_id(tx: Tx, acts: Collection[Act], proposal_id: str) -> list[Proposal]:
    return await _find(tx, "action = ANY($1) AND id = $2 AND decided_at IS NULL", list(acts), proposal_id, lock=True)


async def find_open(connection: Conn, acts: Collection[Act]) -> list[Proposal]:
    """The open proposals of these acts, oldest first."""
    return await _find(connection, "action = ANY($1) AND decided_at IS NULL", list(acts))


async def find_of(connection: Conn, acts: Collection[Act], subject: str) -> list[Proposal]:
    """All proposals about a subject, decided ones included, oldest first."""
    return await _find(connection, "action = ANY($1) AND subject = $2", list(acts), subject)


async def find_with_term(connection: Conn, acts: Collection[Act], name: str, value: str) -> list[Proposal]:
    """All proposals with this value in their terms, oldest first."""
    return await _find(connection, "action = ANY($1) AND terms ->> $2 = $3", list(acts), name, value)


async def find_with_id(connection: Conn, acts: Collection[Act], proposal_id: str) -> list[Proposal]:
    return await _find(connection, "action = ANY($1) AND id = $2", list(acts), proposal_id)


async def end(
    tx: Tx, proposal_id: str, *, by: str, is_approved: bool, now: datetime, is_single_operator: bool = False
) -> None:
    ended = await tx.fetchval(
        """
        UPDATE proposals SET decided_by = $2, decided_at = $3, is_approved = $4, is_single_operator = $5
        WHERE id = $1 AND decided_at IS NULL RETURNING id
        """,
        proposal_id,
        by,
        now,
        is_approved,
        is_single_operator,
    )
    ensure(ended is not None, "a proposal is decided once")


async def _find(connection: Conn, condition: str, *values: object, lock: bool = False) -> list[Proposal]:
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM proposals WHERE {condition} ORDER BY id{' FOR UPDATE' if lock else ''}", *values
    )
    return [msgspec.convert(dict(row), Proposal) for row in rows]

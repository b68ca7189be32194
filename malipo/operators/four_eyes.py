"""When two operators are two people. One whose password or second factor another operator has reset cannot be one of
two approvers, until a third operator vouches for it, or until the cooling time is over. The rule itself is in
`accounts/four_eyes.py`."""

from collections.abc import Sequence
from datetime import datetime

from malipo import ids
from malipo.accounts import four_eyes
from malipo.accounts.four_eyes import COOLING_TIME, last_of_each
from malipo.accounts.store import credential_resets
from malipo.accounts.store.credential_resets import CredentialReset
from malipo.audit_log import actor as actors
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Conn, Tx
from malipo.errors import Code, Conflict, Forbidden
from malipo.operators.require_acting import require_acting
from malipo.operators.store import Operator

__all__ = [
    "COOLING_TIME",
    "are_two",
    "find_open",
    "find_open_of",
    "last_of_each",
    "may_vouch",
    "note_reset",
    "require_two",
    "vouch",
]


class VouchingRefusal(Code):
    SAME = "operators_same"
    NOT_VOUCHED_FOR = "operators_not_vouched_for"
    NOT_THIRD = "vouching_not_third"
    NOTHING_OPEN = "vouching_nothing_open"


async def note_reset(tx: Tx, operator: Operator, credential: str, *, actor: Actor, now: datetime) -> bool:
    """Record the reset of an operator's password or second factor. Returns whether another operator must vouch for it.

    A reset of one's own is not recorded, nor one by the installer, who has the database.
    """
    if not actor.is_operator or actor.name == _actor_name(operator.name):
        return False
    await credential_resets.insert(tx, ids.mint("crs_", now), operator.id, credential, reset_by=actor.name, now=now)
    return True


async def require_two(tx: Tx, *, proposed_by: str, approver: Actor, now: datetime) -> None:
    """Refuse the approval unless proposer and approver are two people, as far as resets of credentials show."""
    if proposed_by == approver.name:
        raise Forbidden(code=VouchingRefusal.SAME)
    if not four_eyes.are_two(await find_open(tx, now=now), proposed_by, approver.name):
        raise Forbidden(code=VouchingRefusal.NOT_VOUCHED_FOR)


async def are_two(tx: Tx, *, proposed_by: str, approver: Actor, now: datetime) -> bool:
    return proposed_by != approver.name and four_eyes.are_two(await find_open(tx, now=now), proposed_by, approver.name)


async def vouch(tx: Tx, name: str, *, actor: Actor, now: datetime, last_seen: str | None = None) -> None:
    """Record that all open resets of this operator were right: the operator alone has the password and the second
    factor. Refused unless a third operator vouches."""
    found = await find_open(tx, now=now)
    own = four_eyes.open_of(found, _actor_name(name), last_seen)
    if not own:
        raise Conflict(code=VouchingRefusal.NOTHING_OPEN)
    if not may_vouch(found, name, actor, await credential_resets.find_all(tx)):
        raise Forbidden(code=VouchingRefusal.NOT_THIRD)
    await require_acting(tx, actor)
    by = await four_eyes.end(tx, own, voucher=actor.name, now=now)
    await audit_log.append(tx, actor, "operator.vouched_for", now=now, name=name, resets_by=by)


def may_vouch(
    found: Sequence[CredentialReset], name: str, actor: Actor, history: Sequence[CredentialReset] = ()
) -> bool:
    """Whether this actor may vouch: a third operator, and never the user of a machine."""
    return actor.is_operator and four_eyes.may_vouch(found, _actor_name(name), actor.name, history)


async def find_open_of(connection: Conn, name: str, *, now: datetime) -> list[CredentialReset]:
    """The open resets of one operator."""
    return four_eyes.open_of(await find_open(connection, now=now), _actor_name(name), None)


async def find_open(connection: Conn, *, now: datetime) -> list[CredentialReset]:
    """Resets that nobody has vouched for, of the cooling time; the oldest first."""
    return await credential_resets.find_open(connection, since=now - COOLING_TIME)


def _actor_name(operator_name: str) -> str:
    return actors.operator_at(operator_name, "").name

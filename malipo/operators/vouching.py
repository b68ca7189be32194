"""One operator alone must not be two. Whoever sets another operator's password, or resets their second factor, may log
in as that operator. So an operator with such a reset counts for no decision that takes two: until a third operator, who
had no part in it, vouches for it, or until the cooling time is over, in which every operator sees it on every page.
"""

from datetime import datetime, timedelta

from malipo import ids
from malipo.audit_log import actor as actors
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Conn, Tx
from malipo.errors import Conflict, Forbidden
from malipo.operators import credential_reset_store as resets
from malipo.operators.credential_reset_store import CredentialReset
from malipo.operators.store import Operator

# Long enough for a weekend. A constant: whoever gives a command can set a variable.
COOLING_TIME = timedelta(hours=72)

SAME = "Whoever proposed it cannot approve it: it takes two operators."
NOT_VOUCHED_FOR = (
    "Another operator has set the password or reset the second factor of one of the two. Until a third operator "
    "vouches for it, or for 72 hours, that one counts for no decision that takes two."
)
NOT_THIRD = "Only a third operator vouches for it: not who did it, not whose it is, and nobody who waits for the same."
NOTHING_OPEN = "Nothing that was reset waits for that, or something else does by now."


async def note_reset(tx: Tx, operator: Operator, credential: str, *, actor: Actor, now: datetime) -> bool:
    """Whether somebody must vouch for it. Not for what operators do to their own; nor for what the installer does, who
    has the database."""
    if not actor.is_operator or actor.name == _actor_name(operator.name):
        return False
    await resets.insert(tx, ids.mint("crs_", now), operator.id, credential, reset_by=actor.name, now=now)
    return True


async def require_two(tx: Tx, *, proposed_by: str, approver: Actor, now: datetime) -> None:
    """That the one who proposes and the one who approves are two people, as far as it can be told."""
    if proposed_by == approver.name:
        raise Forbidden(SAME)
    waiting = {_actor_name(each.name) for each in await find_open(tx, now=now)}
    if waiting & {proposed_by, approver.name}:
        raise Forbidden(NOT_VOUCHED_FOR)


async def vouch(tx: Tx, name: str, *, actor: Actor, now: datetime, last_seen: str | None = None) -> None:
    """All open resets of this operator were right: the password and the second factor are theirs alone.

    A page names the last one that it showed: nobody vouches for what they have not seen.
    """
    found = await find_open(tx, now=now)
    own = [each for each in found if each.name == name]
    if not own or last_seen not in (None, own[-1].id):
        raise Conflict(NOTHING_OPEN)
    if not may_vouch(found, name, actor):
        raise Forbidden(NOT_THIRD)
    await resets.end(tx, [each.id for each in own], vouched_by=actor.name, now=now)
    by = sorted({each.reset_by for each in own})
    await audit_log.append(tx, actor, "operator.vouched_for", now=now, name=name, resets_by=by)


def may_vouch(found: list[CredentialReset], name: str, actor: Actor) -> bool:
    """Nobody for what they did or for themselves. Nor anybody with an open reset of their own: whoever did that one may
    be them, and have done the others too."""
    parties = {each.reset_by for each in found if each.name == name} | {_actor_name(each.name) for each in found}
    return actor.is_operator and actor.name not in parties


async def find_open(connection: Conn, *, now: datetime) -> list[CredentialReset]:
    """Resets that nobody has vouched for, of the cooling time; the oldest first."""
    return await resets.find_open(connection, since=now - COOLING_TIME)


def last_of_each(found: list[CredentialReset]) -> list[CredentialReset]:
    """The last open reset of each operator: from then on the cooling time counts."""
    return list({each.name: each for each in found}.values())


def _actor_name(operator_name: str) -> str:
    return actors.operator_at(operator_name, "").name

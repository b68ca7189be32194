"""The second factor of operators: whose it is, what a change ends, and resets."""

from datetime import datetime

from malipo.accounts.account import AccountOwner
from malipo.accounts.second_factor import enrol
from malipo.accounts.store import pending_logins, trusted_browsers
from malipo.audit_log import actor as actors
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.operators import store as operators
from malipo.operators.store import Operator


def owner_of(operator: Operator, address: str) -> AccountOwner:
    return AccountOwner(operator.id, operator.name, actors.operator_at(operator.name, address))


async def changed(tx: Tx, operator: Operator, kept_session: str, *, now: datetime) -> None:
    """After an enrolment or a removal: other sessions end, and every browser is asked for a code again."""
    await operators.end_others(tx, operator.id, kept_session, now=now)
    await end_trust(tx, operator)


async def end_trust(tx: Tx, operator: Operator) -> None:
    """End the trust of browsers, also after a new password: what waits for a code began with the old one."""
    await trusted_browsers.end_all_trust(tx, operator.id)
    await pending_logins.delete_pending_logins_of(tx, operator.id)


async def reset(tx: Tx, operator: Operator, *, actor: Actor, now: datetime) -> None:
    """Reset at the command line, for an operator who has lost the app and the recovery codes. Their sessions end."""
    await enrol.reset(tx, owner_of(operator, actor.address), actor=actor, now=now)
    await operators.end_all(tx, operator.id, now=now)
    await end_trust(tx, operator)

"""Refuses what an operator does whose role only reads.

The doors ask for the right of each page and command. An approval, a proposal and an amount that is moved alone ask once
more, in their own transaction: a page that names a wrong right still moves nothing.
"""

from malipo.audit_log.actor import Actor, plain_name
from malipo.db import Tx
from malipo.operators import roles, store
from malipo.operators.roles import Right


async def require_acting(tx: Tx, actor: Actor) -> None:
    """A user of the machine, and malipo itself, have no role."""
    if not actor.is_operator:
        return
    operator = await store.find_operator(tx, plain_name(actor.name))
    if operator is not None:
        roles.require(operator.role, Right.ACT)

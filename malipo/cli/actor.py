"""Who acts on the command line, for the audit log: the operator of MALIPO_OPERATOR, else the user of this machine."""

import getpass
import os
import socket

from malipo.audit_log import actor as actors
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Forbidden, Missing
from malipo.operators import store as operators


async def find_actor(tx: Tx, operator: str | None) -> Actor:
    """The operator that the setting names, else the user of this machine; and from where."""
    origin = socket.gethostname()
    if client := os.environ.get("SSH_CONNECTION"):
        origin += f" from {client.split()[0]}"
    if operator is None:
        return Actor(f"user {getpass.getuser()}", origin)
    if not await operators.is_operator(tx, operator):
        raise Missing(f"There is no operator {operator!r} (MALIPO_OPERATOR). See: malipo operators add")
    return actors.operator_at(operator, origin)


def named_operator(actor: Actor) -> Actor:
    """Only a named operator may decide about money."""
    if not actor.is_operator:
        raise Forbidden("This takes an operator: set MALIPO_OPERATOR to your name (see: malipo operators add).")
    return actor

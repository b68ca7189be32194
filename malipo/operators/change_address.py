"""Sets the address to which an operator gets messages. The old address gets a message: somebody who has taken over an
operator's session would otherwise send all warnings elsewhere."""

from datetime import datetime

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor, plain_name
from malipo.db import Tx
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.operators import store


async def change_address(tx: Tx, operator_id: str, email: str | None, *, actor: Actor, now: datetime) -> bool:
    """Change the address of an operator's messages; None for no messages. Returns whether it is another address."""
    operator = await store.lock_address(tx, operator_id)
    if operator.email == email:
        return False
    facts = {"name": operator.name, "by": plain_name(actor.name), "happened_at": now.isoformat()}
    await write.to_account(tx, MessageKind.ADDRESS_CHANGED, operator_id, facts, now=now)
    await store.set_address(tx, operator_id, email)
    await audit_log.append(tx, actor, "operator.address_changed", now=now, name=operator.name, has_address=bool(email))
    return True

"""Closes a restored installation, in one commit: a new epoch; nothing is sent; what is open is asked about first."""

from datetime import datetime

from malipo import log
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.installation.store import installation
from malipo.merchants.store import sessions
from malipo.operators import store as operators
from malipo.payments.store import dispatch_restore


async def fence(tx: Tx, reason: str, *, actor: Actor, now: datetime, epoch: int, beyond: int = 0) -> int:
    """The epoch that it is then. Whoever comes second finds another than `epoch`, and changes nothing.

    A fenced installation is fenced again if it was restored again: what operators had looked at may be lost.
    """
    standing = await installation.lock(tx)
    if standing.epoch != epoch:
        return standing.epoch
    epoch = await installation.begin_epoch(tx, reason, beyond=beyond)
    payments = await dispatch_restore.ask_all_first(tx)
    # Sessions that were ended since the backup are back, and keys that were revoked too. Who logs in is known again.
    await sessions.end_everybodys(tx, now=now)
    await operators.end_everybodys(tx, now=now)
    await audit_log.append(
        tx, actor, "installation.fenced", now=now, epoch=epoch, reason=reason, open_payments=payments
    )
    log.error("installation.fenced", epoch=epoch, reason=reason, open_payments=payments)
    return epoch

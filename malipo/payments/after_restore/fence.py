"""Fences a restored installation, in one commit: a new epoch, nothing is sent, open payments are queried first."""

import socket
from datetime import datetime

from malipo import log
from malipo.accounts.store import pending_logins, second_factors, trusted_browsers
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import SYSTEM_NAME, Actor
from malipo.clock import Clock
from malipo.db import Tx
from malipo.db.queries import Queries
from malipo.merchants.store import password_links, sessions
from malipo.operators import store as operators
from malipo.payments.store import asked_first
from malipo.restore.store import installation


async def fence(tx: Tx, reason: str, *, actor: Actor, now: datetime, epoch: int, beyond: int = 0) -> int:
    """Fence the installation, and return its new epoch. A second caller finds another epoch than `epoch`, and changes
    nothing. A fenced installation that is restored again is fenced again, because the checks of its operators may be
    lost."""
    state = await installation.lock(tx)
    if state.epoch != epoch:
        return state.epoch
    epoch = await installation.begin_epoch(tx, reason, beyond=beyond)
    payments = await asked_first.ask_all_first(tx)
    # The backup makes these valid again: sessions that were ended since, links and recovery codes that were used, and
    # keys that were revoked. Everybody must log in again; revoked keys cannot be distinguished from valid ones.
    await sessions.end_everybodys(tx, now=now)
    await password_links.end_everybodys(tx, now=now)
    await operators.end_everybodys(tx, now=now)
    await trusted_browsers.end_everybodys_trust(tx)
    await pending_logins.delete_all_pending_logins(tx)
    await second_factors.end_everybodys_recovery_codes(tx, now=now)
    await audit_log.append(
        tx, actor, "installation.fenced", now=now, epoch=epoch, reason=reason, open_payments=payments
    )
    log.error("installation.fenced", epoch=epoch, reason=reason, open_payments=payments)
    return epoch


class FenceInstallation:
    """The database was restored: nothing is sent until operators release it."""

    def __init__(self, queries: Queries, clock: Clock) -> None:
        self._queries = queries
        self._clock = clock

    async def __call__(self, reason: str, *, epoch: int, beyond: int = 0) -> int:
        """The new epoch."""
        actor = Actor(SYSTEM_NAME, socket.gethostname())
        return await self._queries.write(
            lambda tx: fence(tx, reason, actor=actor, now=self._clock(), epoch=epoch, beyond=beyond)
        )

"""The pruner: deletes old deliveries, then their events once they are in the rollups, and old log-ins.

It deletes a little at a time, once an hour.
"""

import asyncio
from datetime import timedelta

from malipo import log
from malipo.accounts import failed_login_audit
from malipo.accounts.store import pruning
from malipo.clock import Clock
from malipo.db import Database
from malipo.floats import store as floats
from malipo.messages.store import messages
from malipo.outbox import feed
from malipo.settings import Settings
from malipo.webhooks.store import delivery_history
from malipo.worker import rollups

_EVERY_SECONDS = 3600.0
_PAUSE_SECONDS = 0.1
_MOST = 1000
_KEPT_READINGS_DAYS = 90
_KEPT_MESSAGES_DAYS = 90


async def prune_hourly(database: Database, settings: Settings, clock: Clock) -> None:
    """Run until cancelled."""
    while True:
        try:
            await prune(database, settings, clock)
        except Exception as error:
            log.warning("worker.pruning_failed", reason=str(error))
        await asyncio.sleep(_EVERY_SECONDS)


async def prune(database: Database, settings: Settings, clock: Clock) -> None:
    await _prune_access(database, clock)
    await _prune_readings(database, clock)
    await _prune_messages(database, clock)
    before = clock() - timedelta(days=settings.events_keep_days)
    while True:
        async with database.begin() as tx:
            if not await delivery_history.prune(tx, before=before, most=_MOST):
                break
        await asyncio.sleep(_PAUSE_SECONDS)
    is_more = True
    while is_more:
        is_more = await rollups.count(database, least=1)
        await asyncio.sleep(_PAUSE_SECONDS)
    async with database.read() as connection:
        merchant_ids = await feed.find_prunable(connection, before=before)
    for merchant_id in merchant_ids:
        while True:
            async with database.begin() as tx:
                keeps_unlogged = settings.receipt_log != "off"
                if not await feed.prune(tx, merchant_id, before=before, most=_MOST, keeps_unlogged=keeps_unlogged):
                    break
            await asyncio.sleep(_PAUSE_SECONDS)


async def _prune_readings(database: Database, clock: Clock) -> None:
    before = clock() - timedelta(days=_KEPT_READINGS_DAYS)
    while True:
        async with database.begin() as tx:
            if not await floats.prune(tx, before=before, most=_MOST):
                break
        await asyncio.sleep(_PAUSE_SECONDS)


async def _prune_messages(database: Database, clock: Clock) -> None:
    before = clock() - timedelta(days=_KEPT_MESSAGES_DAYS)
    while True:
        async with database.begin() as tx:
            if not await messages.prune(tx, before=before, most=_MOST):
                break
        await asyncio.sleep(_PAUSE_SECONDS)


async def _prune_access(database: Database, clock: Clock) -> None:
    now = clock()
    is_more = True
    while is_more:
        is_more = await failed_login_audit.report(database, now=now, most=_MOST) == _MOST
        await asyncio.sleep(_PAUSE_SECONDS)
    while True:
        async with database.begin() as tx:
            if not await pruning.prune(tx, now=now, most=_MOST):
                break
        await asyncio.sleep(_PAUSE_SECONDS)

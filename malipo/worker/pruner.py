"""The pruner: deletes old deliveries, then their events, once those are in the rollups.

A little at a time, once an hour.
"""

import asyncio
from datetime import timedelta

from malipo import log
from malipo.outbox import feed
from malipo.service import Service
from malipo.webhooks.store import delivery_history

_EVERY_SECONDS = 3600.0
_PAUSE_SECONDS = 0.1
_MOST = 1000


async def prune_hourly(service: Service) -> None:
    """Until cancelled."""
    while True:
        try:
            await prune(service)
        except Exception as error:
            log.warning("worker.pruning_failed", reason=str(error))
        await asyncio.sleep(_EVERY_SECONDS)


async def prune(service: Service) -> None:
    before = service.clock() - timedelta(days=service.settings.events_keep_days)
    while True:
        async with service.database.begin() as tx:
            if not await delivery_history.prune(tx, before=before, most=_MOST):
                break
        await asyncio.sleep(_PAUSE_SECONDS)
    is_more = True
    while is_more:
        is_more = await service.count(least=1)
        await asyncio.sleep(_PAUSE_SECONDS)
    async with service.database.read() as connection:
        merchant_ids = await feed.find_prunable(connection, before=before)
    for merchant_id in merchant_ids:
        while True:
            async with service.database.begin() as tx:
                if not await feed.prune(tx, merchant_id, before=before, most=_MOST):
                    break
            await asyncio.sleep(_PAUSE_SECONDS)

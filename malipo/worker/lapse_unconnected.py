"""Ends payments that wait on a channel without a connector, because no network will ever take them: collections after
the same time as on a channel that is down, payouts after a longer one."""

import asyncio
from collections.abc import Sequence

from malipo import log
from malipo.networks.connector import Type
from malipo.networks.routing import Route
from malipo.payments.network_work import NetworkWork
from malipo.restore.restore_detector import RestoreDetector

_LAPSE_SECONDS = 5.0


async def lapse_unconnected(network_work: NetworkWork, routes: Sequence[Route], detector: RestoreDetector) -> None:
    """Run until cancelled."""
    collections = [channel for channel, type_ in routes if type_ is Type.COLLECTION]
    payouts = [channel for channel, type_ in routes if type_ is Type.DISBURSEMENT]
    while True:
        try:
            if detector.may_send:
                await network_work.lapse(collections, connector=None)
                await network_work.fail_unconnected_payouts(payouts)
        except Exception as error:
            log.warning("worker.lapse_failed", reason=str(error))
        await asyncio.sleep(_LAPSE_SECONDS)

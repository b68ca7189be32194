"""Ends collections that wait on a channel without a connector, like those on a channel that is down."""

import asyncio
from collections.abc import Sequence

from malipo import log
from malipo.installation.restore_detector import RestoreDetector
from malipo.networks.connector import Channel
from malipo.service import Service

_LAPSE_SECONDS = 5.0


async def lapse_unconnected(service: Service, channels: Sequence[Channel], detector: RestoreDetector) -> None:
    """Until cancelled."""
    while True:
        try:
            if detector.may_send:
                await service.lapse(channels, connector=None)
        except Exception as error:
            log.warning("worker.lapse_failed", reason=str(error))
        await asyncio.sleep(_LAPSE_SECONDS)

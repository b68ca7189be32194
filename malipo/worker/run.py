"""Runs a worker process: all its parts, until it is told to stop."""

import asyncio
import contextlib
import resource
import signal
from typing import Protocol

from malipo import gc_tuning, log
from malipo.db import Database
from malipo.db.notify import listen
from malipo.installation.restore_detector import RestoreDetector
from malipo.networks.connector import Channel, Type
from malipo.service import Service
from malipo.settings import Settings, state_folder
from malipo.worker.circuit_breaker import CircuitBreaker
from malipo.worker.lapse_unconnected import lapse_unconnected
from malipo.worker.network_calls import Mark
from malipo.worker.network_querier import NetworkQuerier
from malipo.worker.network_sender import NetworkSender
from malipo.worker.poll_loop import run_forever, step_seconds
from malipo.worker.pruner import prune_hourly
from malipo.worker.webhook_sender import WebhookSender

_MOST_FILES = 65_536


class _Part(Protocol):
    """A part that runs until it is stopped, and is woken by notifications."""

    def wake(self, topic: str) -> None: ...
    async def run(self) -> None: ...
    async def finish(self, *, seconds: float) -> None: ...


def _nothing(_: str) -> None:
    pass


async def serve(settings: Settings, database_url: str, stop: asyncio.Event) -> None:
    """A worker process: until it is told to stop, or gets SIGTERM or SIGINT."""
    for signal_ in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_, stop.set)
    _raise_file_limit()
    async with Database.opened(database_url, size=settings.database_pool, finds_by_key=True) as database:
        service = Service.assemble(settings, database)
        if settings.worker_metrics_port is not None:
            service.metrics.expose_on(settings.host, settings.worker_metrics_port)
        gc_tuning.collect_rarely()
        try:
            await work(service, database_url, stop, finish_seconds=settings.worker_stop_seconds)
        finally:
            await service.finish()


def _raise_file_limit() -> None:
    """A socket for every receiver: far more than the 1,024 files that many systems begin with."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(_MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def work(
    service: Service,
    database_url: str,
    stop: asyncio.Event,
    *,
    finish_seconds: float = 10.0,
    lease_seconds: float | None = None,
    mark: Mark = _nothing,
) -> None:
    """Until `stop`; then calls under way have `finish_seconds` to end."""
    detector = RestoreDetector(service.database, state_folder(service.settings), fence=service.fence)
    circuits: list[CircuitBreaker] = []
    parts: list[_Part] = []
    for connector in service.networks.connectors.values():
        circuits.append(circuit := CircuitBreaker(service, connector))
        parts.append(NetworkSender(service, connector, detector, circuit, lease_seconds=lease_seconds, mark=mark))
        parts.append(NetworkQuerier(service, connector, circuit, lease_seconds=lease_seconds, mark=mark))
    parts.append(WebhookSender(service, lease_seconds=lease_seconds, mark=mark))

    def wake(topic: str) -> None:
        for part in parts:
            part.wake(topic)

    async def look() -> bool:
        might_send = detector.may_send
        is_more = await detector.look()
        if detector.may_send and not might_send:
            wake("")  # What has waited for this comparison need not wait for the next poll.
        return is_more

    tasks = [asyncio.ensure_future(each.run()) for each in circuits]
    tasks += [asyncio.ensure_future(each.run()) for each in parts]
    tasks.append(asyncio.ensure_future(run_forever("count", service.count, seconds=step_seconds(service.settings))))
    tasks.append(asyncio.ensure_future(run_forever("mark", look, seconds=step_seconds(service.settings))))
    tasks.append(asyncio.ensure_future(prune_hourly(service)))
    tasks.append(asyncio.ensure_future(service.clock_skew.watch()))
    tasks.append(asyncio.ensure_future(service.standing.watch()))
    tasks.append(asyncio.ensure_future(listen(database_url, wake)))
    if unconnected := [each for each in Channel if (each, Type.COLLECTION) not in service.networks.routes]:
        tasks.append(asyncio.ensure_future(lapse_unconnected(service, unconnected, detector)))
    log.info("worker.started", routes=list(service.networks.connectors))
    for task in tasks:
        task.add_done_callback(_log_end)
    try:
        await stop.wait()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(part.finish(seconds=finish_seconds) for part in parts))
        with contextlib.suppress(Exception):  # The database may be gone already.
            await detector.leave()
        log.info("worker.stopped")


def _log_end(task: asyncio.Future[None]) -> None:
    """None of them ends by itself. If one does, that is a bug, and it is logged."""
    if not task.cancelled():
        log.error("worker.part_ended", task.exception())

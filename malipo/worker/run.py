"""Runs a worker process: all its parts, until it is told to stop."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Protocol

from malipo import __version__, log, process_tuning
from malipo.app.assemble import Service, assemble
from malipo.approvals import service_limits
from malipo.build import build_id
from malipo.db import Database
from malipo.db.notify import listen
from malipo.db.readiness import ReadinessCheck
from malipo.db.wait_for_database import wait_for_database
from malipo.metrics.process_metrics import Metrics
from malipo.monitoring.collector import Collector
from malipo.networks.routing import Networks, unconnected_routes
from malipo.outbox.event import EVENTS_TOPIC
from malipo.process_tuning import raise_file_limit
from malipo.restore.restore_detector import RestoreDetector
from malipo.restore.worker_reports import route_of
from malipo.settings import Settings, state_folder
from malipo.worker import rollups
from malipo.worker.batch_completer import complete_batches
from malipo.worker.circuit_breaker import CircuitBreaker, OpenCircuits
from malipo.worker.due_work import BATCHES_TOPIC, wake_due
from malipo.worker.first_worker import Precedence
from malipo.worker.float_reader import float_readers
from malipo.worker.lapse_unconnected import lapse_unconnected
from malipo.worker.ledger_checker import LedgerChecker
from malipo.worker.loop_health import LoopHealth
from malipo.worker.network_calls import Mark, NetworkCalls
from malipo.worker.network_querier import NetworkQuerier
from malipo.worker.network_sender import NetworkSender
from malipo.worker.poll_loop import LOOK_SECONDS, RARE_LOOK_SECONDS, run_forever, step_seconds
from malipo.worker.pruner import prune_hourly
from malipo.worker.statement_fetcher import StatementFetcher
from malipo.worker.webhook_sender import WebhookSender


class _Part(Protocol):
    """A part that runs until it is stopped, and is woken by notifications."""

    def wake(self, topic: str) -> None: ...
    async def run(self, loops: LoopHealth) -> None: ...
    async def finish(self, *, seconds: float) -> None: ...


def _nothing(_: str) -> None:
    pass


# Serves the health and metrics of a worker over HTTP while it runs.
Exposed = Callable[[Settings, Metrics, ReadinessCheck, LoopHealth], AbstractAsyncContextManager[None]]


async def serve(
    settings: Settings,
    database_url: str,
    stop: asyncio.Event,
    *,
    exposed: Exposed,
    on_started: Callable[[], None] = lambda: None,
) -> None:
    """Run a worker process until it is told to stop, or gets SIGTERM or SIGINT."""
    for signal_ in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_, stop.set)
    raise_file_limit()  # Each receiver of webhooks needs a socket.
    if not await _is_there_before(stop, database_url):
        return
    async with (
        Database.opened(database_url, size=settings.database_pool, finds_by_key=True, plans_once=True) as database,
        Database.opened(database_url, size=2) as slow_database,
    ):
        service = assemble(settings, database)
        metrics, clock, schema = service.metrics, service.clock, service.health.monitor.schema
        loops = LoopHealth(metrics)
        collector = Collector(database, metrics.money, settings, clock, schema)
        checker = LedgerChecker(slow_database, settings)
        fetcher = StatementFetcher(slow_database, service.networks, settings, clock)
        readers = float_readers(service.networks, service.queries, settings, clock)
        process_tuning.collect_rarely()
        noting = asyncio.ensure_future(service_limits.note_at_start(database, settings, schema, clock=clock))
        try:
            async with exposed(settings, metrics, service.health.readiness, loops):
                await work(
                    service,
                    database_url,
                    stop,
                    finish_seconds=settings.worker_stop_seconds,
                    loops=loops,
                    beside=[
                        lambda _: collector.watch(),
                        checker.run,
                        *([fetcher.run] if settings.statement_fetch else []),
                        *(each.run for each in readers),
                    ],
                    on_started=on_started,
                )
        finally:
            noting.cancel()
            await service.finish()


async def _is_there_before(stop: asyncio.Event, database_url: str) -> bool:
    """Wait for the database. Returns False if the process was told to stop first."""
    waiting = asyncio.ensure_future(wait_for_database(database_url))
    stopped = asyncio.ensure_future(stop.wait())
    await asyncio.wait((waiting, stopped), return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if waiting.done():
        waiting.result()
        return True
    waiting.cancel()
    return False


async def work(
    service: Service,
    database_url: str,
    stop: asyncio.Event,
    *,
    finish_seconds: float = 10.0,
    lease_seconds: float | None = None,
    mark: Mark = _nothing,
    loops: LoopHealth | None = None,
    beside: Sequence[Callable[[LoopHealth], Coroutine[Any, Any, None]]] = (),
    on_started: Callable[[], None] = lambda: None,
) -> None:
    """Work until `stop`; then calls under way have `finish_seconds` to end.

    While this version cannot serve the schema, only the check of the schema runs: nothing is claimed or sent.
    """
    schema = service.health.monitor.schema
    monitoring = asyncio.ensure_future(service.health.monitor.watch())
    monitoring.add_done_callback(_log_end)
    try:
        while not stop.is_set():
            await _either(stop.wait(), schema.until(is_served=True))
            if stop.is_set():
                break
            await _work_on_served_schema(
                service,
                database_url,
                stop,
                finish_seconds=finish_seconds,
                lease_seconds=lease_seconds,
                mark=mark,
                loops=loops or LoopHealth(service.metrics),
                beside=beside,
                on_started=on_started,
            )
    finally:
        monitoring.cancel()
        log.info("worker.stopped")


async def _either(*awaited: Coroutine[Any, Any, object]) -> None:
    """Return when either of them has ended."""
    tasks = [asyncio.ensure_future(each) for each in awaited]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def _work_on_served_schema(
    service: Service,
    database_url: str,
    stop: asyncio.Event,
    *,
    finish_seconds: float,
    lease_seconds: float | None,
    mark: Mark,
    loops: LoopHealth,
    beside: Sequence[Callable[[LoopHealth], Coroutine[Any, Any, None]]],
    on_started: Callable[[], None],
) -> None:
    settings, clock, metrics, networks = service.settings, service.clock, service.metrics, service.networks
    database, network_work = service.queries.database, service.network_work
    seconds = step_seconds(settings)
    routes = [route_of(channel, type_) for channel, type_ in networks.routes]
    detector = RestoreDetector(database, state_folder(settings), fence=service.fence, routes=routes)
    open_circuits = OpenCircuits(service.queries)
    circuits: list[CircuitBreaker] = []
    parts: list[_Part] = []
    for connector in networks.connectors.values():
        circuits.append(circuit := CircuitBreaker(connector, open_circuits, service.queries, metrics, clock))
        calls = partial(NetworkCalls, connector, circuit, networks, network_work, metrics, clock)
        sends, queries = (calls(lease_seconds=lease_seconds, mark=mark) for _ in range(2))
        parts.append(NetworkSender(sends, detector, network_work, settings, clock))
        parts.append(NetworkQuerier(queries, database, settings))
    to_count, to_complete = asyncio.Event(), asyncio.Event()
    parts.append(
        WebhookSender(
            database,
            service.attempts,
            detector,
            metrics,
            settings,
            clock,
            lease_seconds=lease_seconds,
            mark=mark,
            on_numbered=to_count.set,
        )
    )

    def wake(topic: str) -> None:
        for part in parts:
            part.wake(topic)
        if topic == BATCHES_TOPIC:
            to_complete.set()

    precedence = Precedence(_kinds_of_work(networks))

    def hear(topic: str) -> None:
        # What another worker is first to do, it was notified of too. If it leaves that, we find it late.
        if not precedence.late_seconds(topic):
            wake(topic)

    async def look() -> bool:
        might_send = detector.may_send
        is_more = await detector.look()
        precedence.note(detector.worker_id, detector.workers)
        if detector.may_send and not might_send:
            wake("")  # Whatever waited for this comparison does not have to wait for the next poll.
        return is_more

    count = partial(rollups.count, database)
    tasks = [asyncio.ensure_future(each.run(loops)) for each in circuits]
    tasks += [asyncio.ensure_future(each.run(loops)) for each in parts]
    rarely = RARE_LOOK_SECONDS
    tasks.append(
        asyncio.ensure_future(
            run_forever(
                "count", count, to_count, seconds=seconds, pause_seconds=LOOK_SECONDS, look_seconds=rarely, loops=loops
            )
        )
    )
    tasks.append(asyncio.ensure_future(run_forever("mark", look, seconds=seconds, loops=loops)))
    complete = partial(complete_batches, database, partial(wake, EVENTS_TOPIC))
    tasks.append(
        asyncio.ensure_future(
            run_forever("batches", complete, to_complete, seconds=seconds, look_seconds=rarely, loops=loops)
        )
    )
    due = wake_due(
        database,
        wake,
        routes=networks.routes.keys(),
        connectors=networks.connectors.keys(),
        circuits=circuits,
        precedence=precedence,
        seconds=seconds,
        loops=loops,
    )
    tasks.append(asyncio.ensure_future(due))
    tasks += [asyncio.ensure_future(each(loops)) for each in beside]
    tasks.append(asyncio.ensure_future(prune_hourly(database, settings, clock)))
    tasks.append(asyncio.ensure_future(service.health.clock_skew.watch()))
    tasks.append(asyncio.ensure_future(listen(database_url, hear)))
    if unconnected := unconnected_routes(networks.routes):
        tasks.append(asyncio.ensure_future(lapse_unconnected(network_work, unconnected, detector)))
    log.info("worker.started", routes=list(networks.connectors), version=__version__, build=build_id())
    on_started()
    for task in tasks:
        task.add_done_callback(_log_end)
    try:
        await _either(stop.wait(), service.health.monitor.schema.until(is_served=False))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(part.finish(seconds=finish_seconds) for part in parts))
        with contextlib.suppress(Exception):  # The database may be away already.
            await detector.leave()


def _kinds_of_work(networks: Networks) -> dict[str, tuple[str, frozenset[str]]]:
    """By topic. A connector that carries several channels claims for all of them at once, so they are one kind."""
    kinds: dict[str, tuple[str, frozenset[str]]] = {EVENTS_TOPIC: (EVENTS_TOPIC, frozenset())}
    for name in networks.connectors:
        pairs = networks.carried_by(name)
        kinds[name] = name, frozenset(route_of(*each) for each in pairs)
        kinds |= {channel: kinds[name] for channel, _ in pairs}
    return kinds


def _log_end(task: asyncio.Future[None]) -> None:
    """No part ends by itself. If one does, that is a bug, and is logged."""
    if not task.cancelled():
        log.error("worker.part_ended", task.exception())

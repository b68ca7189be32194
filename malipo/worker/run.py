"""Runs a worker process: all its parts, until it gets a signal to stop."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Protocol

from malipo import __version__, log, process_tuning
from malipo.app.assemble import Service, assemble
from malipo.approvals import operator_limits
from malipo.bank.balance import find_seen
from malipo.bank.import_statement import write_all_coverage
from malipo.build import build_id
from malipo.db import Database
from malipo.db.notify import listen
from malipo.db.readiness import ReadinessCheck
from malipo.db.wait_for_database import wait_for_database
from malipo.mail.send import post_of
from malipo.metrics.process_metrics import Metrics
from malipo.monitoring.collector import Collector
from malipo.networks.routing import Networks, unconnected_routes
from malipo.outbox.event import EVENTS_TOPIC
from malipo.outbox.store import AnyEvent
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
from malipo.worker.link_counter import LinkCounter
from malipo.worker.loop_health import LoopHealth
from malipo.worker.message_sender import MessageSender
from malipo.worker.network_calls import AtPoint, NetworkCalls
from malipo.worker.network_querier import NetworkQuerier
from malipo.worker.network_sender import NetworkSender
from malipo.worker.poll_loop import LOOK_SECONDS, RARE_LOOK_SECONDS, run_forever, step_seconds
from malipo.worker.pruner import prune_hourly
from malipo.worker.receipt_log import ReceiptLog
from malipo.worker.settlement_scheduler import SettlementScheduler
from malipo.worker.statement_fetcher import StatementFetcher
from malipo.worker.webhook_sender import WebhookSender


class _Part(Protocol):
    """A part of the worker that runs until it is stopped, and that notifications wake."""

    def wake(self, topic: str) -> None: ...
    async def run(self, loops: LoopHealth) -> None: ...
    async def finish(self, *, seconds: float) -> None: ...


def _nothing(_: str) -> None:
    pass


# A loop of the worker that moves no money and follows no notification.
ExtraLoop = Callable[[LoopHealth], Coroutine[Any, Any, None]]
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
    """Run a worker process until it is stopped, or gets SIGTERM or SIGINT."""
    for signal_ in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_, stop.set)
    raise_file_limit()  # Each receiver of webhooks needs a socket.
    if not await _wait_for_database_unless(stop, database_url):
        return
    async with (
        Database.opened(database_url, size=settings.database_pool, finds_by_key=True, plans_once=True) as database,
        Database.opened(database_url, size=2) as slow_database,
    ):
        service = assemble(settings, database)
        metrics, clock, schema = service.metrics, service.clock, service.health.monitor.schema
        loops = LoopHealth(metrics)
        collector = Collector(database, metrics.money, settings, clock, schema, find_seen)
        checker = LedgerChecker(slow_database, settings)
        fetcher = StatementFetcher(slow_database, service.networks, settings, clock)
        scheduler = SettlementScheduler(slow_database, settings)
        readers = float_readers(service.networks, service.queries, settings, clock)
        process_tuning.collect_rarely()
        noting = asyncio.ensure_future(
            operator_limits.note_at_start(database, settings, schema, write_all_coverage, clock=clock)
        )
        try:
            async with exposed(settings, metrics, service.health.readiness, loops):
                await work(
                    service,
                    database_url,
                    stop,
                    finish_seconds=settings.worker_stop_seconds,
                    loops=loops,
                    extra_loops=[
                        lambda _: collector.watch(),
                        checker.run,
                        scheduler.run,
                        *([fetcher.run] if settings.statement_fetch else []),
                        *(each.run for each in readers),
                    ],
                    on_started=on_started,
                )
        finally:
            noting.cancel()
            await service.finish()


async def _wait_for_database_unless(stop: asyncio.Event, database_url: str) -> bool:
    """Wait for the database. Returns False if the process was stopped first."""
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
    at_point: AtPoint = _nothing,
    loops: LoopHealth | None = None,
    extra_loops: Sequence[ExtraLoop] = (),
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
            worker = _Worker(service, lease_seconds=lease_seconds, at_point=at_point)
            tasks = worker.start(database_url, loops=loops or LoopHealth(service.metrics), extra_loops=extra_loops)
            log.info("worker.started", routes=list(service.networks.connectors), version=__version__, build=build_id())
            on_started()
            try:
                await _either(stop.wait(), schema.until(is_served=False))
            finally:
                await worker.stop(tasks, seconds=finish_seconds)
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


class _Worker:
    """The parts of a worker for as long as it serves the schema: what wakes each of them, and the tasks that run."""

    def __init__(self, service: Service, *, lease_seconds: float | None, at_point: AtPoint) -> None:
        settings, clock, metrics, networks = service.settings, service.clock, service.metrics, service.networks
        self._service = service
        self._database = database = service.queries.database
        routes = [route_of(channel, type_) for channel, type_ in networks.routes]
        self._detector = RestoreDetector(database, state_folder(settings), fence=service.fence, routes=routes)
        open_circuits = OpenCircuits(service.queries)
        self._circuits: list[CircuitBreaker] = []
        self._parts: list[_Part] = []
        for connector in networks.connectors.values():
            circuit = CircuitBreaker(connector, open_circuits, service.queries, metrics, clock)
            self._circuits.append(circuit)
            calls = partial(NetworkCalls, connector, circuit, networks, service.network_work, metrics, clock)
            sends, queries = (calls(lease_seconds=lease_seconds, at_point=at_point) for _ in range(2))
            self._parts.append(NetworkSender(sends, self._detector, service.network_work, settings, clock))
            self._parts.append(NetworkQuerier(queries, database, settings))
        self._to_count, self._to_complete = asyncio.Event(), asyncio.Event()
        self._links = LinkCounter(database, clock, partial(self.wake, EVENTS_TOPIC))
        is_logged = settings.receipt_log != "off"
        self._receipts = ReceiptLog(service, lambda: self._detector.worker_id) if is_logged else None
        self._parts.append(
            WebhookSender(
                database,
                service.attempts,
                self._detector,
                metrics,
                settings,
                clock,
                lease_seconds=lease_seconds,
                at_point=at_point,
                on_numbered=self._note_numbered,
            )
        )
        self._precedence = Precedence(_kinds_of_work(networks))
        post = post_of(settings)
        self._messages = (
            None
            if post is None
            else MessageSender(database, post, metrics, clock, may_send=lambda: self._detector.may_send)
        )

    def _note_numbered(self, events: Sequence[AnyEvent]) -> None:
        self._to_count.set()
        self._links.note_numbered(events)
        if self._receipts is not None:
            self._receipts.note_numbered()

    def wake(self, topic: str) -> None:
        for part in self._parts:
            part.wake(topic)
        if topic == BATCHES_TOPIC:
            self._to_complete.set()

    def _wake_if_first(self, topic: str) -> None:
        """Follow a notification, unless another worker is first for it. That one was notified too; if it does not do
        the work, this worker finds it when it is late."""
        if not self._precedence.late_seconds(topic):
            self.wake(topic)

    async def _look(self) -> bool:
        """Compare the database with the mark. Work that waited for the first comparison begins at once."""
        might_send = self._detector.may_send
        await self._detector.look()
        self._precedence.note(self._detector.worker_id, self._detector.workers)
        if self._detector.may_send and not might_send:
            self.wake("")
        return False  # One look is all: the next one is after a rest.

    def start(
        self, database_url: str, *, loops: LoopHealth, extra_loops: Sequence[ExtraLoop]
    ) -> list[asyncio.Task[None]]:
        """Start all tasks, in an order that never changes: a seed of the simulation depends on it."""
        service, networks = self._service, self._service.networks
        seconds = step_seconds(service.settings)
        run = partial(run_forever, seconds=seconds, loops=loops)
        count = partial(rollups.count, self._database)
        complete = partial(complete_batches, self._database, partial(self.wake, EVENTS_TOPIC))
        due = wake_due(
            self._database,
            self.wake,
            routes=networks.routes.keys(),
            connectors=networks.connectors.keys(),
            circuits=self._circuits,
            precedence=self._precedence,
            seconds=seconds,
            loops=loops,
        )
        rarely = RARE_LOOK_SECONDS
        coroutines: list[Coroutine[Any, Any, None]] = [
            *(each.run(loops) for each in self._circuits),
            *(each.run(loops) for each in self._parts),
            run("count", count, self._to_count, pause_seconds=LOOK_SECONDS, look_seconds=rarely),
            run("mark", self._look),
            run("batches", complete, self._to_complete, look_seconds=rarely),
            run("links", self._links.turn, self._links.due, pause_seconds=LOOK_SECONDS, look_seconds=rarely),
            due,
            *(() if self._receipts is None else self._receipts.loops(loops)),
            *(() if self._messages is None else (self._messages.send(loops), self._messages.watch(loops))),
            *(each(loops) for each in extra_loops),
            prune_hourly(self._database, service.settings, service.clock),
            service.health.clock_skew.watch(),
            listen(database_url, self._wake_if_first),
        ]
        if unconnected := unconnected_routes(networks.routes):
            coroutines.append(lapse_unconnected(service.network_work, unconnected, self._detector))
        tasks = [asyncio.ensure_future(each) for each in coroutines]
        for task in tasks:
            task.add_done_callback(_log_end)
        return tasks

    async def stop(self, tasks: Sequence[asyncio.Task[None]], *, seconds: float) -> None:
        """Cancel the tasks, then let calls under way end, and note that this worker has ended."""
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(part.finish(seconds=seconds) for part in self._parts))
        with contextlib.suppress(Exception):  # The database may be away already.
            await self._detector.leave()


def _kinds_of_work(networks: Networks) -> dict[str, tuple[str, frozenset[str]]]:
    """The kinds of work by topic. A connector that carries several channels claims for all of them at once, so they
    are one kind."""
    kinds: dict[str, tuple[str, frozenset[str]]] = {EVENTS_TOPIC: (EVENTS_TOPIC, frozenset())}
    for name in networks.connectors:
        routes = networks.carried_by(name)
        kinds[name] = name, frozenset(route_of(*each) for each in routes)
        kinds |= {channel: kinds[name] for channel, _ in routes}
    return kinds


def _log_end(task: asyncio.Future[None]) -> None:
    """No part ends by itself. If one does, that is a bug, and is logged."""
    if not task.cancelled():
        log.error("worker.part_ended", task.exception())

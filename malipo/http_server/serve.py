"""Runs the HTTP server until it gets a signal to stop."""

import asyncio
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial

from malipo import log
from malipo.api.http.connection_limits import ConnectionLimits, most_connections
from malipo.app.assemble import Service, assemble
from malipo.approvals import operator_limits
from malipo.bank.balance import find_seen
from malipo.bank.import_statement import write_all_coverage
from malipo.db import Database
from malipo.db.standby import Standby
from malipo.db.wait_for_database import wait_for_database
from malipo.http_server.app import WebApplication
from malipo.http_server.graceful_shutdown import Server
from malipo.http_server.sockets import listeners
from malipo.http_server.uvicorn_config import config_of
from malipo.monitoring.collector import Collector
from malipo.process_tuning import raise_file_limit
from malipo.settings import Settings


async def serve(
    settings: Settings,
    database_url: str,
    *,
    handed_over: Sequence[socket.socket] = (),
    on_ready: Callable[[], None] = lambda: None,
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until SIGTERM, SIGINT or `stop`; then finish the requests under way.

    New connections are refused then, or wait for the next process if another one holds these sockets too.
    """
    sockets = listeners(settings, handed_over)
    most = most_connections(files=raise_file_limit(), database_pool=settings.database_pool)
    people_seconds = settings.database_people_seconds
    opened = partial(Database.opened, database_url, finds_by_key=True)
    async with (
        opened(size=settings.database_pool) as database,
        opened(size=settings.database_pool_people, statement_timeout_seconds=people_seconds) as people_database,
        opened(size=settings.database_pool_customers, statement_timeout_seconds=people_seconds) as customer_database,
        _opened_standby(settings) as standby_database,
    ):
        standby = None
        if standby_database is not None:
            lag_seconds = settings.database_read_lag_seconds
            standby = Standby(standby_database, primary=people_database, most_lag_seconds=lag_seconds)
        service = assemble(
            settings,
            database,
            people_database=people_database,
            customer_database=customer_database,
            standby=standby,
        )
        await _serve(service, standby, sockets, database_url, most=most, on_ready=on_ready, stop=stop)


async def _serve(
    service: Service,
    standby: Standby | None,
    sockets: list[socket.socket],
    database_url: str,
    *,
    most: int,
    on_ready: Callable[[], None],
    stop: asyncio.Event | None,
) -> None:
    """Serve with at most so many connections, beside the tasks that watch the database and the installation."""
    settings, database, schema = service.settings, service.queries.database, service.health.monitor.schema
    collector = Collector(database, service.metrics.money, settings, service.clock, schema, find_seen)
    server = Server(
        config_of(WebApplication(service, most_pages=most // 2)),
        service.long_polls,
        on_ready,
        f"http://{settings.host}:{settings.port}",
    )
    limit_connections(ConnectionLimits.of(server.server_state), settings, most=most)
    for signal_ in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_, server.stop)
    watched = (service.health.clock_skew, service.health.monitor, collector, standby)
    watches = [asyncio.ensure_future(each.watch()) for each in watched if each is not None]
    watches.append(asyncio.ensure_future(wait_for_database(database_url)))
    watches.append(
        asyncio.ensure_future(
            operator_limits.note_at_start(database, settings, schema, write_all_coverage, clock=service.clock)
        )
    )
    if stop is not None:
        watches.append(asyncio.ensure_future(server.stop_at(stop)))
    try:
        await server.serve(sockets=sockets)
    finally:
        for each in watches:
            each.cancel()
        await service.finish()
        log.info("api.stopped")


def _opened_standby(settings: Settings) -> AbstractAsyncContextManager[Database | None]:
    """Few requests wait for a standby that is away, and not for long: they can use the primary."""
    if settings.database_read_url is None:
        return nullcontext()
    return Database.opened(
        settings.database_read_url,
        size=settings.database_pool_people,
        connect_seconds=2.0,
        finds_by_key=True,
        statement_timeout_seconds=settings.database_people_seconds,
        setting="MALIPO_DATABASE_READ_URL",
    )


def limit_connections(limits: ConnectionLimits, settings: Settings, *, most: int) -> None:
    limits.most = most
    limits.per_address.most = settings.connections_per_address
    limits.per_address.uncounted += settings.trusted_proxies
    limits.proxies = settings.trusted_proxies

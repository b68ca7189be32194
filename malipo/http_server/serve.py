"""Runs the HTTP server until it is told to stop."""

import asyncio
import signal
from collections.abc import Callable

import uvicorn

from malipo import log
from malipo.api.http_protocol import Protocol
from malipo.api.request_timeouts import KEEP_ALIVE_SECONDS
from malipo.db import Database
from malipo.http_server.app import WebApplication
from malipo.http_server.graceful_shutdown import STOP_SECONDS, Server
from malipo.http_server.listen import listen
from malipo.service import Service
from malipo.settings import Settings


async def serve(settings: Settings, database_url: str, *, on_ready: Callable[[], None] = lambda: None) -> None:
    """Serve until SIGTERM or SIGINT; then finish what is under way, and refuse what is new."""
    listener = listen(settings.host, settings.port)
    database = Database(database_url, size=settings.database_pool, finds_by_key=True)
    await database.open()
    service = Service.assemble(settings, database)
    config = uvicorn.Config(
        WebApplication(service),
        http=Protocol,
        ws="none",
        loop="uvloop",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    server = Server(config, service, on_ready, f"http://{settings.host}:{settings.port}")
    for signal_ in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_, server.stop)
    watches = [asyncio.ensure_future(each.watch()) for each in (service.clock_skew, service.standing)]
    try:
        await server.serve(sockets=[listener])
    finally:
        for each in watches:
            each.cancel()
        await service.finish()
        await database.close()
        log.info("api.stopped")

"""malipo worker: one worker process, to run several."""

import argparse
import asyncio
import sys
from typing import Any

import uvloop

from malipo import log, tracing
from malipo.cli.child_processes import SAY_READY, UNTIL_STDIN_CLOSES, say_ready, until_stdin_closes
from malipo.cli.command_table import add_command
from malipo.cli.database_url import database_url
from malipo.http_server.worker_port import exposed
from malipo.settings import Settings
from malipo.settings.environment import require_to_serve
from malipo.worker.run import serve


def add_commands(commands: Any) -> None:
    worker = add_command(commands, "worker")
    worker.add_argument(UNTIL_STDIN_CLOSES, action="store_true", help="exit when standard input closes")
    worker.add_argument(SAY_READY, action="store_true", help="write a line to standard output when the worker is ready")
    worker.set_defaults(command=_worker)


def _worker(arguments: argparse.Namespace, settings: Settings) -> int:
    require_to_serve(settings)
    log.configure(level=settings.log_level, stream=sys.stderr)
    with database_url(settings, may_start=True) as url, tracing.running(is_on=settings.traces, process="worker"):
        uvloop.run(_work(settings, url, with_stdin=arguments.until_stdin_closes, says_ready=arguments.say_ready))
    return 0


async def _work(settings: Settings, url: str, *, with_stdin: bool, says_ready: bool) -> None:
    stop = asyncio.Event()
    watching = asyncio.ensure_future(until_stdin_closes(stop)) if with_stdin else None
    try:
        on_started = say_ready if says_ready else lambda: None
        await serve(settings, url, stop, exposed=exposed, on_started=on_started)
    finally:
        if watching is not None:
            watching.cancel()

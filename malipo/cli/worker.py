"""malipo worker: one worker process, to run several."""

import argparse
import asyncio
import sys
from typing import Any

import uvloop

from malipo import log
from malipo.cli.child_processes import UNTIL_STDIN_CLOSES, until_stdin_closes
from malipo.cli.database import database_url
from malipo.settings import Settings
from malipo.settings.environment import require
from malipo.worker.run import serve


def add_commands(commands: Any) -> None:
    worker = commands.add_parser("worker", help="run one worker: it speaks to the networks and sends webhooks")
    worker.add_argument(UNTIL_STDIN_CLOSES, action="store_true", help="end when standard input does")
    worker.set_defaults(command=_worker)


def _worker(arguments: argparse.Namespace, settings: Settings) -> int:
    require(settings, "secret_key")
    log.configure(level=settings.log_level, stream=sys.stderr)
    with database_url(settings) as url:
        uvloop.run(_work(settings, url, with_stdin=arguments.until_stdin_closes))
    return 0


async def _work(settings: Settings, url: str, *, with_stdin: bool) -> None:
    stop = asyncio.Event()
    watching = asyncio.ensure_future(until_stdin_closes(stop)) if with_stdin else None
    try:
        await serve(settings, url, stop)
    finally:
        if watching is not None:
            watching.cancel()

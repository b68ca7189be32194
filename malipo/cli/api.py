"""malipo api: one API process, to run several. `malipo serve` starts it too."""

import argparse
import asyncio
import os
import sys
from typing import Any

import uvloop

from malipo import log, tracing
from malipo.cli.child_processes import SOCKETS, UNTIL_STDIN_CLOSES, say_ready, until_stdin_closes
from malipo.cli.command_table import add_command
from malipo.cli.database_url import database_url
from malipo.cli.serve import warn_of_proxies
from malipo.db.wait_for_database import is_there
from malipo.http_server.serve import serve as serve_http
from malipo.http_server.sockets import of_files, of_supervisor
from malipo.settings import Settings, demo_settings
from malipo.settings.environment import require_to_serve


def add_commands(commands: Any) -> None:
    api = add_command(commands, "api")
    api.add_argument(SOCKETS, type=int, nargs="+", default=[], help=argparse.SUPPRESS)  # what `serve` hands over
    api.add_argument(UNTIL_STDIN_CLOSES, action="store_true", help="exit when standard input closes")
    api.set_defaults(command=_api)


def _api(arguments: argparse.Namespace, settings: Settings) -> int:
    require_to_serve(settings)
    demo_settings.delete(settings.data_dir)
    log.configure(level=settings.log_level, stream=sys.stderr)
    is_child: bool = arguments.until_stdin_closes
    if not is_child:
        warn_of_proxies(settings)
    with database_url(settings, may_start=True) as url, tracing.running(is_on=settings.traces, process="api"):
        uvloop.run(_serve(settings, url, arguments.sockets, is_child=is_child))
    return 0


async def _serve(settings: Settings, url: str, files: list[int], *, is_child: bool) -> None:
    handed_over = [*of_files(files), *of_supervisor(os.environ)]
    if not is_child:
        await is_there(url)  # An address that cannot be used ends it here, with a sentence.
        await serve_http(settings, url, handed_over=handed_over)
        return
    stop = asyncio.Event()
    watching = asyncio.ensure_future(until_stdin_closes(stop))
    try:
        await serve_http(settings, url, handed_over=handed_over, on_ready=say_ready, stop=stop)
    finally:
        watching.cancel()

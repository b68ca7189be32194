"""malipo serve: API and worker. malipo api: one API process, to run several."""

import argparse
import os
import sys
from typing import Any

import uvloop

from malipo import log
from malipo.cli.child_processes import Children
from malipo.cli.database import database_url
from malipo.db import Database
from malipo.db.migrate import migrate
from malipo.http_server.serve import serve as serve_http
from malipo.merchants.store import merchants
from malipo.networks.http.client import HttpClient
from malipo.networks.routing import connect
from malipo.settings import Settings
from malipo.settings.environment import require

DEMO_MERCHANT = "Demo Shop"


def add_commands(commands: Any) -> None:
    serve = commands.add_parser("serve", help="run the service: migrations, then the API and a worker")
    serve.set_defaults(command=_serve)
    api = commands.add_parser("api", help="run one API process on a migrated database")
    api.set_defaults(command=_api)


def _serve(arguments: argparse.Namespace, settings: Settings) -> int:
    require(settings, "secret_key")
    connect(settings, HttpClient())  # Says what is missing, before anything is started.
    log.configure(level=settings.log_level, stream=sys.stderr)
    with database_url(settings) as url:
        uvloop.run(_migrate_and_serve(settings, url))
    return 0


async def _migrate_and_serve(settings: Settings, url: str) -> None:
    await migrate_at(url)
    async with Database.opened(url, size=4) as database, database.read() as connection:
        if await merchants.find_by_name(connection, DEMO_MERCHANT):
            log.warning("serve.demo_data", message="The demo merchant, its key and its money are in this database.")
    async with Children(sys.stderr) as children:
        # Not before the port is bound: a second service on one machine ends with a sentence, and changes nothing.
        await serve_http(settings, url, on_ready=lambda: children.start_soon("malipo", ["worker"], os.environ))


async def migrate_at(url: str) -> None:
    async with Database.opened(url, size=4) as database:
        await migrate(database)


def _api(arguments: argparse.Namespace, settings: Settings) -> int:
    require(settings, "secret_key")
    log.configure(level=settings.log_level, stream=sys.stderr)
    with database_url(settings) as url:
        uvloop.run(serve_http(settings, url))
    return 0

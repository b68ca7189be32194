"""malipo serve, api and migrate: the service itself, and its parts for a fleet."""

import argparse
import sys
from typing import Any

import uvloop

from malipo import log
from malipo.api.server import serve as serve_api
from malipo.cli.work import database_url, with_database
from malipo.db import Database
from malipo.db.migrate import migrate
from malipo.settings import Settings


def add_commands(commands: Any) -> None:
    serve = commands.add_parser("serve", help="run the service: migrations, then the API")
    serve.set_defaults(command=_serve)
    api = commands.add_parser("api", help="run one API process on a migrated database")
    api.set_defaults(command=_api)
    migrations = commands.add_parser("migrate", help="bring the database's schema up to date")
    migrations.set_defaults(command=_migrate)


def _serve(arguments: argparse.Namespace, settings: Settings) -> int:
    log.configure(level=settings.log_level, stream=sys.stderr)
    with database_url(settings) as url:
        uvloop.run(_migrate_and_serve(settings, url))
    return 0


async def _migrate_and_serve(settings: Settings, url: str) -> None:
    await migrate_at(url)
    await serve_api(settings, url)


async def migrate_at(url: str) -> None:
    database = Database(url, size=4)
    await database.open()
    try:
        await migrate(database)
    finally:
        await database.close()


def _api(arguments: argparse.Namespace, settings: Settings) -> int:
    log.configure(level=settings.log_level, stream=sys.stderr)
    with database_url(settings) as url:
        uvloop.run(serve_api(settings, url))
    return 0


def _migrate(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> int:
        async with database.read() as connection:
            return int(await connection.fetchval("SELECT max(number) FROM schema_migrations"))

    print(f"The schema is at migration {with_database(settings, act)}.")
    return 0

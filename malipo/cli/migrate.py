"""malipo migrate: brings the schema up to date."""

import argparse
from typing import Any

from malipo.cli.database import with_database
from malipo.cli.output import add_subcommand, tell
from malipo.db import Database
from malipo.settings import Settings


def add_commands(commands: Any) -> None:
    add_subcommand(commands, "migrate", _migrate, "bring the database's schema up to date")


def _migrate(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> int:
        async with database.read() as connection:
            return int(await connection.fetchval("SELECT max(number) FROM schema_migrations"))

    number = with_database(settings, act)
    return tell(arguments, {"migration": number}, f"The schema is at migration {number}.")

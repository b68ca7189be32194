"""What every command does before its own work: find the database, open it, run."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from malipo import log
from malipo.db import Database
from malipo.db.embedded import server
from malipo.db.migrate import migrate
from malipo.settings import Settings

Done = TypeVar("Done")


@contextmanager
def database_url(settings: Settings) -> Iterator[str]:
    """The operator's PostgreSQL, or our own: the running one, or one for as long as we need it."""
    if settings.database_url is not None:
        yield settings.database_url
    else:
        with server(settings.data_dir) as url:
            yield url


def with_database(settings: Settings, act: Callable[[Database], Awaitable[Done]]) -> Done:
    """Do something with a database that is migrated."""
    # People read what a command prints; only what is wrong goes to the log.
    log.configure(level="warning", stream=sys.stderr)

    async def work(url: str) -> Done:
        database = Database(url, size=4)
        await database.open()
        try:
            await migrate(database)
            return await act(database)
        finally:
            await database.close()

    with database_url(settings) as url:
        return asyncio.run(work(url))


def add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON, for programs")


def print_json(value: Any) -> None:
    print(msgspec.json.format(msgspec.json.encode(value)).decode())

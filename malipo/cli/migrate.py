"""malipo migrate: brings the schema up to date, or shows what would be applied and who can go on running."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from malipo import __version__, log
from malipo.cli.command_table import COMMANDS
from malipo.cli.database_url import database_url
from malipo.cli.output import add_subcommand, cell, print_result
from malipo.db import Database
from malipo.db.migrate import migrate
from malipo.db.schema import OLDEST_SCHEMA, Migration, Schema, check_served, migrations, read_schema
from malipo.errors import Impossible
from malipo.settings import Settings


def add_commands(commands: Any) -> None:
    act = add_subcommand(commands, "migrate", _migrate, COMMANDS["migrate"].help)
    act.add_argument("--status", action="store_true", help="show applied and pending migrations, and change nothing")


def _migrate(arguments: argparse.Namespace, settings: Settings) -> int:
    if arguments.status:
        return _print_status(arguments, _on_database(settings, _read))

    async def act(database: Database) -> Schema:
        await migrate(database)
        return await _read(database)

    schema = _on_database(settings, act)
    return print_result(arguments, {"migration": schema.number}, f"The schema is at migration {schema.number}.")


async def _read(database: Database) -> Schema:
    async with database.read() as connection:
        return await read_schema(connection)


def _on_database(settings: Settings, act: Callable[[Database], Awaitable[Schema]]) -> Schema:
    """Run on any schema. Other commands require one that this version can serve."""
    log.configure(level="warning", stream=sys.stderr)

    async def work(url: str) -> Schema:
        async with Database.opened(url, size=2) as database:
            return await act(database)

    with database_url(settings) as url:
        return asyncio.run(work(url))


def _print_status(arguments: argparse.Namespace, schema: Schema) -> int:
    known = migrations()
    problem = _problem(schema, known)
    if arguments.json:
        print_result(arguments, _as_json(schema, known, problem), "")
    else:
        print("\n".join(_lines(schema, known, problem)))
    return 0 if problem is None else 1


def _problem(schema: Schema, known: Sequence[Migration]) -> str | None:
    try:
        check_served(schema, known)
    except Impossible as problem:
        return str(problem)
    return None


def _as_json(schema: Schema, known: Sequence[Migration], problem: str | None) -> dict[str, Any]:
    return {
        "version": __version__,
        "oldestSchema": OLDEST_SCHEMA,
        "newestSchema": known[-1].number,
        "schema": schema.number,
        "serves": schema.serves,
        "isServed": problem is None,
        "problem": problem,
        "applied": [
            {"number": each.number, "name": each.name, "serves": each.serves, "appliedAt": cell(each.applied_at)}
            for each in schema.applied.values()
        ],
        "pending": [
            {"number": each.number, "name": each.name, "serves": each.serves} for each in schema.pending(known)
        ],
    }


def _lines(schema: Schema, known: Sequence[Migration], problem: str | None) -> list[str]:
    pending = schema.pending(known)
    names = {each.number: cell(each.name) for each in known}
    names |= {each.number: cell(each.name) for each in schema.applied.values()}
    width = max(map(len, names.values()))
    newest = known[-1].number
    lines = [
        f"{number:04}  {name.ljust(width)}  "
        + (f"applied {cell(schema.applied[number].applied_at)}" if number in schema.applied else "pending")
        for number, name in sorted(names.items())
    ]
    lines += [
        "",
        f"Database:      at migration {schema.number}." if schema.applied else "Database:      no schema yet.",
        f"This version:  malipo {__version__}, migration {newest}; it runs on a schema from {OLDEST_SCHEMA} on"
        + (", and on this one." if problem is None else "."),
    ]
    if schema.applied:
        lines.append(f"Running now:   versions of migration {schema.serves} or later can run on this schema.")
    if schema.applied and pending:
        serves = max(schema.serves, *(each.serves for each in pending))
        lines.append(
            f"After migrate: versions of migration {serves} or later can go on running; {_stop(serves, schema)}"
        )
    return [*lines, *(["", problem] if problem else [])]


def _stop(serves: int, schema: Schema) -> str:
    if serves > schema.number:
        return "stop the processes that run now before you migrate."
    return "nothing needs to stop."

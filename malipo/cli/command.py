"""What every command shares: the database, who acts, printing for people or programs."""

import argparse
import asyncio
import getpass
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from malipo import clock, log
from malipo.audit_log import actor as actors
from malipo.audit_log.actor import Actor
from malipo.db import Database, Tx
from malipo.db.embedded import server
from malipo.db.migrate import migrate
from malipo.errors import Forbidden, Missing
from malipo.installation.store import installation
from malipo.operators import store as operators
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
        async with Database.opened(url, size=4) as database:
            await migrate(database)
            await _say_if_closed(database)
            return await act(database)

    with database_url(settings) as url:
        return asyncio.run(work(url))


async def _say_if_closed(database: Database) -> None:
    """The warning of every command while nothing is sent, with the reason."""
    async with database.read() as connection:
        standing = await installation.get(connection)
    if standing.is_fenced:
        print(
            f"malipo: FENCED, nothing is sent: {standing.fence_reason} API keys that were revoked since the backup are "
            "back: revoke them again. See: malipo restore status",
            file=sys.stderr,
        )
    elif standing.held_at is not None:
        print(f"malipo: ON HOLD by {standing.held_by}, nothing is sent: {standing.hold_reason}", file=sys.stderr)


def write(settings: Settings, act: Callable[[Tx, Actor, datetime], Awaitable[Done]]) -> Done:
    """Change the database in one commit, in the name of the operator who runs the command."""

    async def work(database: Database) -> Done:
        async with database.begin() as tx:
            return await act(tx, await _actor(tx, settings.operator), clock.now())

    return with_database(settings, work)


async def _actor(tx: Tx, operator: str | None) -> Actor:
    """The operator that the setting names, else the user of this machine; and from where."""
    origin = socket.gethostname()
    if client := os.environ.get("SSH_CONNECTION"):
        origin += f" from {client.split()[0]}"
    if operator is None:
        return Actor(f"user {getpass.getuser()}", origin)
    if not await operators.is_operator(tx, operator):
        raise Missing(f"There is no operator {operator!r} (MALIPO_OPERATOR). See: malipo operators add")
    return actors.operator_at(operator, origin)


def named_operator(actor: Actor) -> Actor:
    """Only a named operator may decide about money."""
    if not actor.is_operator:
        raise Forbidden("This takes an operator: set MALIPO_OPERATOR to your name (see: malipo operators add).")
    return actor


def add_subcommand(acts: Any, name: str, command: Callable[[argparse.Namespace, Settings], int], help_: str) -> Any:
    """A subcommand, with --json."""
    act = acts.add_parser(name, help=help_, description=help_)
    act.add_argument("--json", action="store_true", help="print JSON, for programs")
    act.set_defaults(command=command)
    return act


def tell(arguments: argparse.Namespace, value: Any, sentence: str) -> int:
    """The result, as JSON or as a sentence."""
    print(_json(value) if arguments.json else sentence)
    return 0


def tell_table(
    arguments: argparse.Namespace, rows: Sequence[dict[str, Any]], *, empty: str, right: Sequence[str] = ()
) -> int:
    """The results, as JSON or as a table that a person can read."""
    if arguments.json:
        print(_json(rows))
    elif not rows:
        print(empty)
    else:
        lines = [{name: name for name in rows[0]}, *({name: cell(row[name]) for name in row} for row in rows)]
        widths = {name: max(len(line[name]) for line in lines) for name in rows[0]}
        for line in lines:
            cells = (
                cell.rjust(widths[name]) if name in right else cell.ljust(widths[name]) for name, cell in line.items()
            )
            print("  ".join(cells).rstrip())
    return 0


def cell(value: Any) -> str:
    """A value as a person reads it."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case list() | tuple():
            return ", ".join(map(str, value)) or "-"
        case datetime():
            return clock.iso(value)
    return str(value)


def _json(value: Any) -> str:
    encoded = msgspec.json.encode(value, enc_hook=str)
    return msgspec.json.format(encoded).decode()

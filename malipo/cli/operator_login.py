"""malipo operators login, logout and whoami: the session of an operator at the command line."""

import argparse
from datetime import datetime
from typing import Any

from malipo import clock, randomness
from malipo.accounts.known_browsers import Browser
from malipo.approvals.operator_limits import REQUIRED, with_limits
from malipo.cli import session_file, terminal
from malipo.cli.actor import find_session, host, origin, os_user
from malipo.cli.database import with_database
from malipo.cli.output import add_subcommand, print_result
from malipo.cli.reauthentication import login_service, prompt_code
from malipo.db import Database
from malipo.db.database_time import database_now
from malipo.errors import Forbidden
from malipo.operators import login
from malipo.operators import store as operators
from malipo.operators.command_line_session import command_line_session
from malipo.operators.login import SESSION_LIFE, CommandLine
from malipo.operators.store import OperatorSession
from malipo.settings import Settings


class OperatorNotEnrolled(Forbidden):
    code = "second_factor_not_enrolled"

    def __init__(self) -> None:
        super().__init__(
            "Operators need a second factor here. Log in at /operator once, and set it up; "
            "MALIPO_OPERATOR_SECOND_FACTOR=optional does without."
        )


def add_subcommands(acts: Any) -> None:
    act = add_subcommand(acts, "login", _login, "log in as an operator at this command line, for 12 hours")
    act.add_argument("name", nargs="?", help="the operator's name (default: prompted for)")
    terminal.add_stdin(act)
    add_subcommand(acts, "logout", _logout, "end the session at this command line")
    add_subcommand(acts, "whoami", _whoami, "show the operator logged in here; exit code 1 if none")


def _login(arguments: argparse.Namespace, settings: Settings) -> int:
    path = session_file.path_of(settings)
    name = login.name_of(arguments.name or terminal.prompt("Name"))
    password = terminal.secret(arguments, "Password")
    command_line = CommandLine(randomness.token_urlsafe(32), os_user())

    async def act(database: Database) -> datetime:
        now = await _now(database)
        service = login_service(database, settings)
        # Attempts are counted for the host, and not for an address that a variable could change.
        begun = await service.begin(
            name, password, address=host(), browser=Browser(), now=now, command_line=command_line
        )
        if begun.pending_token is not None:
            proof = prompt_code(arguments)
            await service.finish(
                begun.pending_token,
                proof,
                address=host(),
                browser=Browser(),
                now=await _now(database),
                command_line=command_line,
            )
        elif await _is_second_factor_required(database, settings):
            await _end_unproven(database, command_line, now=now)
            raise OperatorNotEnrolled
        # The session in the file would still be valid when the file is overwritten, so it is ended first.
        await _end(database, settings, now=now)
        return now + SESSION_LIFE

    until = with_database(settings, act, command=arguments.act)
    session_file.write(path, command_line.secret)
    shown = {"name": name, "until": clock.iso(until)}
    return print_result(
        arguments, shown, f"{name} is logged in here until {clock.iso(until)}. To end it: malipo operators logout"
    )


async def _is_second_factor_required(database: Database, settings: Settings) -> bool:
    async with database.read() as connection:
        return (await with_limits(connection, settings)).operator_second_factor == REQUIRED


async def _now(database: Database) -> datetime:
    async with database.read() as connection:
        return await database_now(connection)


async def _end_unproven(database: Database, command_line: CommandLine, *, now: datetime) -> None:
    async with database.begin() as tx:
        await operators.end(tx, command_line_session(command_line.secret), now=now)


def _logout(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> OperatorSession | None:
        return await _end(database, settings, now=await _now(database))

    ended = with_database(settings, act)
    session_file.remove(session_file.path_of(settings))
    name = ended.operator.name if ended else None
    return print_result(
        arguments, {"name": name}, f"{name} is logged out here." if name else "Nobody was logged in here."
    )


async def _end(database: Database, settings: Settings, *, now: datetime) -> OperatorSession | None:
    """End the session of this user's file, if it has not ended; whose it was."""
    async with database.read() as connection:
        session = await find_session(connection, settings, now=now)
    if session is not None:
        await login_service(database, settings).log_out(session, address=origin(), now=now, os_user=os_user())
    return session


def _whoami(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> tuple[str, datetime | None] | None:
        async with database.read() as connection:
            session = await find_session(connection, settings, now=await database_now(connection))
            return session and (session.operator.name, await operators.expires_at(connection, session.id))

    name, until = with_database(settings, act) or (None, None)
    shown = {"name": name, "until": clock.iso(until) if until else None, "systemUser": os_user()}
    words = f"{name}, until {shown['until']}" if name else "Nobody is logged in here. See: malipo operators login"
    print_result(arguments, shown, f"{words}\nUser of the system: {shown['systemUser']}")
    return 0 if name else 1

"""malipo operators … and malipo audit: operators and the audit log."""

import argparse
import getpass
import sys
from typing import Any

from malipo import ids
from malipo.access.passwords import Passwords, problem_with_password
from malipo.audit_log import store as audit_log
from malipo.cli.database import with_database, write
from malipo.cli.output import add_subcommand, tell, tell_table
from malipo.db import Database
from malipo.errors import Conflict, Invalid
from malipo.merchants import onboard
from malipo.operators import login
from malipo.operators import store as operators
from malipo.settings import Settings


def add_commands(commands: Any) -> None:
    operators = commands.add_parser("operators", help="the people who run this service")
    acts = operators.add_subparsers(title="acts", metavar="ACT", required=True)
    add_subcommand(acts, "list", _list, "all operators")
    add = add_subcommand(acts, "add", _add, "add an operator, who then acts with MALIPO_OPERATOR set to this name")
    add.add_argument("name", help="such as an email")
    password = add_subcommand(acts, "password", _password, "set an operator's password for the pages at /operator")
    password.add_argument("name", help="the operator's name")
    password.add_argument("--stdin", action="store_true", help="read it from the first line of standard input")
    audit = add_subcommand(commands, "audit", _audit, "who did what, when and from where; newest first")
    audit.add_argument("--merchant", help="only what concerns this merchant")
    audit.add_argument("--limit", type=int, default=50, help="how many (default: 50)")


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.read() as connection:
            found = await operators.find_operators(connection)
        return [{"name": name, "since": created_at} for name, created_at in found]

    return tell_table(arguments, with_database(settings, act), empty="There are no operators yet.")


def _add(arguments: argparse.Namespace, settings: Settings) -> int:
    name = arguments.name.strip().lower()
    if not 1 <= len(name) <= 100 or not name.isprintable() or " " in name:
        raise Invalid("An operator's name is 1 to 100 printable characters without spaces.")

    async def act(tx: Any, actor: Any, now: Any) -> None:
        if not await operators.insert_operator(tx, ids.mint("opr_", now), name, now=now):
            raise Conflict(f"There is already an operator {name!r}.")
        await audit_log.append(tx, actor, "operator.added", now=now, name=name)

    write(settings, act)
    return tell(arguments, {"name": name}, f"{name} is an operator. They act with MALIPO_OPERATOR={name}.")


def _password(arguments: argparse.Namespace, settings: Settings) -> int:
    name = login.name_of(arguments.name)
    password = sys.stdin.readline().rstrip("\r\n") if arguments.stdin else _typed()
    if problem := problem_with_password(password, name):
        raise Invalid(f"The password {problem}.")

    async def act(tx: Any, actor: Any, now: Any) -> None:
        await login.set_password(tx, name, await Passwords().hash(password), actor=actor, now=now)

    write(settings, act)
    return tell(arguments, {"name": name}, f"{name} logs in at /operator with it. Sessions from before have ended.")


def _typed() -> str:
    """Asked for twice, and never shown."""
    password = getpass.getpass("New password: ")
    if password != getpass.getpass("Once more: "):
        raise Invalid("That was not the same password twice.")
    return password


def _audit(arguments: argparse.Namespace, settings: Settings) -> int:
    if not 1 <= arguments.limit <= 10_000:
        raise Invalid("--limit must be from 1 to 10,000.")

    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.begin() as tx:
            merchant_id = await onboard.find_merchant(tx, arguments.merchant) if arguments.merchant else None
            found = await audit_log.find(tx, merchant_id=merchant_id, limit=arguments.limit)
        return [
            {
                "at": deed.created_at,
                "who": deed.actor,
                "from": deed.address,
                "what": deed.action,
                "merchant": deed.merchant_id,
                "details": deed.details if arguments.json else _in_words(dict(deed.details)),
            }
            for deed in found
        ]

    return tell_table(arguments, with_database(settings, act), empty="Nothing has been done yet.")


def _in_words(details: dict[str, Any]) -> str:
    return "; ".join(
        f"{name} {', '.join(map(str, value)) if isinstance(value, list) else value}" for name, value in details.items()
    )

"""malipo numbers …: phone numbers that pay pages no longer ask. Operators block one whose owner is pestered."""

import argparse
from datetime import datetime
from typing import Any

from malipo.audit_log.actor import Actor
from malipo.cli.command_table import add_command
from malipo.cli.database import with_database, write
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.db import Database, Tx
from malipo.errors import Invalid
from malipo.links import block_number
from malipo.links.store import blocked_numbers
from malipo.phone import is_valid
from malipo.settings import Settings
from malipo.validation.typed_values import phone_of

_MOST_SHOWN = 1000


def add_commands(commands: Any) -> None:
    numbers = add_command(commands, "numbers")
    acts = numbers.add_subparsers(title="acts", metavar="ACT", required=True)
    block = add_subcommand(acts, "block", _block, "block a number: no pay page asks it any more")
    block.add_argument("phone", help="such as 0754000100")
    block.add_argument("--reason", required=True, help="why, for the audit log")
    unblock = add_subcommand(acts, "unblock", _unblock, "let pay pages ask a blocked number again")
    unblock.add_argument("phone")
    add_subcommand(acts, "list", _list, f"list the blocked numbers, the latest {_MOST_SHOWN}")


def _block(arguments: argparse.Namespace, settings: Settings) -> int:
    phone, reason = _phone(arguments), arguments.reason.strip()
    if not reason:
        raise Invalid("--reason says why it is blocked.")

    async def act(tx: Tx, actor: Actor, now: datetime) -> None:
        await block_number.block(tx, phone, reason, actor=actor, now=now)

    write(arguments, settings, act)
    return print_result(arguments, {"phone": phone, "isBlocked": True}, f"Blocked: no pay page asks {phone} any more.")


def _unblock(arguments: argparse.Namespace, settings: Settings) -> int:
    phone = _phone(arguments)

    async def act(tx: Tx, actor: Actor, now: datetime) -> None:
        await block_number.unblock(tx, phone, actor=actor, now=now)

    write(arguments, settings, act)
    return print_result(arguments, {"phone": phone, "isBlocked": False}, f"Pay pages may ask {phone} again.")


def _phone(arguments: argparse.Namespace) -> str:
    phone = phone_of(arguments.phone)
    if not is_valid(phone):
        raise Invalid("The number must be a Tanzanian mobile number, such as 0754000100.")
    return phone


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.read() as connection:
            found = await blocked_numbers.find_all(connection, limit=_MOST_SHOWN)
        return [
            {"phone": each.phone, "blockedAt": each.blocked_at, "by": each.blocked_by, "reason": each.reason}
            for each in found
        ]

    return print_table(arguments, with_database(settings, act), empty="No number is blocked.")

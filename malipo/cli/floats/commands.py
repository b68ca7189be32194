"""malipo floats …: what lies at each network, by the ledger and as it was seen there."""

import argparse
from datetime import datetime
from typing import Any

from malipo import clock, money
from malipo.audit_log.actor import Actor
from malipo.cli.command_table import COMMANDS
from malipo.cli.database import with_database, write
from malipo.cli.floats.transfers import account_of, add_subcommands
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.cli.wallet_bookings import amount_of
from malipo.db import Database, Tx
from malipo.floats import store
from malipo.floats.note_readings import note_seen
from malipo.floats.position import Position
from malipo.networks.connector import Channel
from malipo.settings import Settings


def add_commands(commands: Any) -> None:
    help_ = COMMANDS["floats"].help
    floats = add_subcommand(commands, "floats", _list, help_)
    acts = floats.add_subparsers(title="acts", metavar="ACT")
    add_subcommand(acts, "list", _list, help_)
    read = add_subcommand(acts, "read", _read, "record the balance that the network's portal shows")
    read.add_argument("channel", choices=list(Channel), metavar="CHANNEL", help="such as MPESA")
    read.add_argument("amount", help="whole shillings")
    add_account(read)
    add_subcommands(acts, add_account)


def add_account(act: Any) -> None:
    act.add_argument(
        "--account", default="", help="the account, if there are several at that network (default: the only one)"
    )


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    low = dict(settings.float_low)

    async def act(database: Database) -> list[Position]:
        async with database.snapshot() as connection:
            return await store.find_positions(connection)

    now = clock.now()
    positions = with_database(settings, act)
    if arguments.json:
        return print_result(arguments, [_as_json(each, low.get(each.channel), now) for each in positions], "")
    return print_table(
        arguments,
        [_as_row(each, low.get(each.channel), now) for each in positions],
        empty="",
        right=("ledger", "reading", "difference", "in flight", "cover", "low below"),
    )


def _as_row(position: Position, low: int | None, now: datetime) -> dict[str, Any]:
    cover = position.cover(now)
    return {
        "channel": position.channel,
        "ledger": position.ledger,
        "reading": position.reading,
        "difference": position.difference,
        "read": "never" if position.read_at is None else f"{_age(now - position.read_at)} ago",
        "in flight": position.in_flight,
        "cover": cover,
        "low below": low,
        "is low": low is not None and cover < low,
    }


def _as_json(position: Position, low: int | None, now: datetime) -> dict[str, Any]:
    cover = position.cover(now)
    return {
        "channel": position.channel,
        "ledger": position.ledger,
        "reading": position.reading,
        "readAt": position.read_at,
        "ageSeconds": None if position.read_at is None else round((now - position.read_at).total_seconds()),
        "difference": position.difference,
        "inFlight": position.in_flight,
        "cover": cover,
        "lowBelow": low,
        "isLow": low is not None and cover < low,
        "accounts": [
            {
                "account": each.account,
                "amount": each.amount,
                "source": each.source,
                "readAt": each.read_at,
                "notedBy": each.noted_by,
                "isShared": each.is_shared,
            }
            for each in position.readings
        ],
    }


def _age(age: Any) -> str:
    minutes = round(age.total_seconds() / 60)
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} days"


def _read(arguments: argparse.Namespace, settings: Settings) -> int:
    channel, account = Channel(arguments.channel), account_of(arguments.account)
    amount = 0 if arguments.amount.strip() == "0" else amount_of(arguments.amount)

    async def act(tx: Tx, actor: Actor, now: datetime) -> None:
        await note_seen(tx, channel, account, amount, actor=actor, now=now)

    write(arguments, settings, act)
    shown = {"channel": channel, "account": account, "amount": amount}
    return print_result(arguments, shown, f"Noted: {money.display(amount)} at {channel}. It moves nothing.")

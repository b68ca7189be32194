"""malipo statements charge and charges: what networks are expected to charge."""

import argparse
from datetime import datetime
from typing import Any

import msgspec

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.cli.database import with_database, write
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.db import Database, Tx
from malipo.errors import Invalid
from malipo.networks.connector import Channel, Type
from malipo.reconciliation.matching.store import expected_charges
from malipo.reconciliation.matching.store.expected_charges import Charge
from malipo.settings import Settings


def add_subcommands(acts: Any) -> None:
    set_ = add_subcommand(acts, "charge", _set, "set what a network charges; a different charge becomes an exception")
    set_.add_argument("channel", choices=list(Channel))
    set_.add_argument("type", choices=list(Type))
    set_.add_argument(
        "--basis-points", type=int, default=0, help="share of the amount in hundredths of a percent, rounded down"
    )
    set_.add_argument("--fixed", type=int, default=0, help="whole shillings for each payment")
    set_.add_argument("--minimum", type=int, default=0, help="the lowest charge, in whole shillings")
    add_subcommand(acts, "charges", _show, "show the charges expected of networks")


def _set(arguments: argparse.Namespace, settings: Settings) -> int:
    if not 0 <= arguments.basis_points <= 10_000 or arguments.fixed < 0 or arguments.minimum < 0:
        raise Invalid("A charge has no negative part, and takes no more than all.")
    charge = Charge(
        channel=Channel(arguments.channel),
        type=Type(arguments.type),
        basis_points=arguments.basis_points,
        fixed_fee=arguments.fixed,
        min_fee=arguments.minimum,
    )

    async def act(tx: Tx, actor: Actor, now: datetime) -> None:
        await expected_charges.set_charge(tx, charge, by=actor.name, now=now)
        await audit_log.append(tx, actor, "statement.charge_set", now=now, **msgspec.structs.asdict(charge))

    write(arguments, settings, act)
    return print_result(arguments, _row(charge), "From the next statement on, charges are compared with this.")


def _show(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.read() as connection:
            return [_row(each) for each in await expected_charges.find(connection)]

    empty = "Nothing is expected, so no charge is compared."
    return print_table(arguments, with_database(settings, act), empty=empty, right=("basis points", "fixed", "minimum"))


def _row(charge: Charge) -> dict[str, Any]:
    return {
        "channel": charge.channel,
        "type": charge.type,
        "basis points": charge.basis_points,
        "fixed": charge.fixed_fee,
        "minimum": charge.min_fee,
    }

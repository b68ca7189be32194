"""malipo wallet …: the wallet of a merchant."""

import argparse
from typing import Any

from malipo import clock, money
from malipo.cli import wallet_bookings
from malipo.cli.command_table import add_command
from malipo.cli.database import with_database
from malipo.cli.output import add_subcommand, print_result
from malipo.db import Database
from malipo.ledger.store import wallets
from malipo.merchants import onboard
from malipo.settings import Settings


def add_commands(commands: Any) -> None:
    wallet = add_command(commands, "wallet")
    acts = wallet.add_subparsers(title="acts", metavar="ACT", required=True)
    add_subcommand(acts, "show", _show, "show the wallet's balance").add_argument(
        "merchant", help="the merchant's id or name"
    )
    wallet_bookings.add_subcommands(acts)


def _show(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> Any:
        async with database.read() as connection:
            return await wallets.get(connection, await onboard.find_merchant(connection, arguments.merchant))

    wallet, updated_at = with_database(settings, act)
    shown = {
        "merchantId": wallet.merchant_id,
        "currency": money.CURRENCY,
        "available": wallet.available,
        "reserved": wallet.in_flight,
        **({"owed": wallet.owed} if wallet.owed else {}),
        "updatedAt": clock.iso(updated_at),
    }
    sentence = f"{money.display(wallet.available)} available, {money.display(wallet.in_flight)} reserved for payouts."
    if wallet.owed:
        sentence += f" {money.display(wallet.owed)} is owed, and cannot be spent."
    return print_result(arguments, shown, sentence)

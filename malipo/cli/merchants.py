"""malipo merchant …"""

import argparse
from typing import Any

from malipo import clock
from malipo.cli.work import add_json, print_json, with_database
from malipo.db import Database
from malipo.errors import Invalid
from malipo.merchants import onboard
from malipo.settings import Settings

_MOST_NAME = 100


def add_commands(commands: Any) -> None:
    merchant = commands.add_parser("merchant", help="the merchants of this service")
    acts = merchant.add_subparsers(title="acts", metavar="ACT", required=True)
    create = acts.add_parser("create", help="take a merchant in, with an empty wallet")
    create.add_argument("name", help="what the merchant is called")
    add_json(create)
    create.set_defaults(command=_create)


def _create(arguments: argparse.Namespace, settings: Settings) -> int:
    name = arguments.name.strip()
    if not 1 <= len(name) <= _MOST_NAME or not name.isprintable():
        raise Invalid(f"A merchant's name is 1 to {_MOST_NAME} printable characters.")

    async def act(database: Database) -> str:
        async with database.begin() as tx:
            return await onboard.create_merchant(tx, name, now=clock.now())

    merchant_id = with_database(settings, act)
    if arguments.json:
        print_json({"id": merchant_id, "name": name})
    else:
        print(f"Merchant {name} is {merchant_id}. Next: malipo key create {merchant_id}")
    return 0

"""malipo key …"""

import argparse
from typing import Any

from malipo import clock
from malipo.cli.work import add_json, print_json, with_database
from malipo.db import Database
from malipo.errors import Invalid
from malipo.merchants import onboard
from malipo.merchants.keys import Environment, NewKey, Permission
from malipo.settings import Settings


def add_commands(commands: Any) -> None:
    key = commands.add_parser("key", help="the API keys of a merchant")
    acts = key.add_subparsers(title="acts", metavar="ACT", required=True)
    create = acts.add_parser("create", help="make an API key; it is shown once")
    create.add_argument("merchant", help="the merchant's id or name")
    create.add_argument("--name", default="API key", help="what the key is for (default: API key)")
    create.add_argument(
        "--permissions",
        default=",".join(Permission),
        metavar="LIST",
        help="what it may do, with commas between (default: everything)",
    )
    create.add_argument(
        "--environment",
        choices=list(Environment),
        default=Environment.LIVE,
        help="the word in its prefix; both move real money (default: live)",
    )
    add_json(create)
    create.set_defaults(command=_create)


def _create(arguments: argparse.Namespace, settings: Settings) -> int:
    permissions = _permissions(arguments.permissions)

    async def act(database: Database) -> NewKey:
        async with database.begin() as tx:
            return await onboard.create_key(
                tx,
                await onboard.find_merchant(tx, arguments.merchant),
                name=arguments.name,
                permissions=permissions,
                environment=Environment(arguments.environment),
                brand=settings.key_prefix,
                now=clock.now(),
            )

    key = with_database(settings, act)
    if arguments.json:
        print_json(
            {
                "id": key.id,
                "merchantId": key.merchant_id,
                "name": key.name,
                "key": key.text,
                "prefix": key.prefix,
                "last4": key.last4,
                "environment": key.environment,
                "permissions": key.permissions,
                "createdAt": clock.iso(key.created_at),
            }
        )
    else:
        print(f"{key.text}\n\nThis is the only time that the key is shown. It may: {', '.join(key.permissions)}.")
    return 0


def _permissions(text: str) -> list[Permission]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in list(Permission)]
    if unknown or not names:
        what = f"There is no permission {unknown[0]!r}." if unknown else "A key needs a permission."
        raise Invalid(f"{what} There are: {', '.join(Permission)}.")
    return [permission for permission in Permission if permission in names]

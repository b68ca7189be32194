"""malipo networks …: which connectors there are, and the conformance tests against a sandbox."""

import argparse
import asyncio
import re
from collections.abc import Mapping
from typing import Any

from malipo.cli.command_table import add_command
from malipo.cli.database import with_database
from malipo.cli.output import add_subcommand, print_table
from malipo.db import Database
from malipo.errors import Invalid, Missing
from malipo.networks import circuit_store, conformance
from malipo.networks.circuit_store import Outage
from malipo.networks.connector import Channel, Type
from malipo.networks.http.client import HttpClient
from malipo.networks.routing import Networks, connect
from malipo.settings import Settings


def add_commands(commands: Any) -> None:
    networks = add_command(commands, "networks")
    acts = networks.add_subparsers(title="acts", metavar="ACT", required=True)
    add_subcommand(acts, "list", _list, "list each channel: its connector, and whether it is up")
    verify = add_subcommand(acts, "verify", _verify, "test a network's sandbox against what its connector expects")
    verify.add_argument("name", help="such as mpesa")
    verify.add_argument(
        "--sandbox", action="store_true", required=True, help="confirm that the configured address is a sandbox"
    )
    verify.add_argument("--phone", required=True, help="a number of the sandbox, such as +255754000001")
    verify.add_argument("--amount", type=int, default=1000, help="whole shillings (default: 1000)")
    verify.add_argument(
        "--seconds", type=int, default=120, help="how long to wait for a payment, in seconds (default: 120)"
    )


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    networks = connect(settings, HttpClient())

    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.read() as connection:
            down = await circuit_store.find_down(connection)
        return [_row(networks, down, channel, type_) for channel in Channel for type_ in Type]

    return print_table(arguments, with_database(settings, act, command=arguments.act), empty="")


def _row(networks: Networks, down: Mapping[str, Outage], channel: Channel, type_: Type) -> dict[str, Any]:
    carrier = networks.routes.get((channel, type_))
    trouble = down.get(carrier) if carrier is not None else None
    return {
        "channel": channel,
        "type": type_,
        "carried by": carrier,
        "is up": carrier is not None and trouble is None,
        "down since": trouble.since if trouble else None,
        "reason": trouble.reason if trouble else None,
        "callbacks": f"/callbacks/{carrier}/…" if carrier in networks.callback_access else None,
    }


def _verify(arguments: argparse.Namespace, settings: Settings) -> int:
    # Sandboxes have numbers of their own, such as 000000000001.
    if not re.fullmatch(r"\+?[0-9]{9,14}", arguments.phone):
        raise Invalid("--phone must be 9 to 14 digits, such as +255754000001.")
    if not 500 <= arguments.amount <= 10_000:
        raise Invalid("--amount must be from 500 to 10,000: harmless, whatever happens to it.")
    return asyncio.run(_run(arguments, settings))


async def _run(arguments: argparse.Namespace, settings: Settings) -> int:
    async with HttpClient.opened() as http_client:
        networks = connect(settings, http_client)
        if arguments.name not in networks.connectors:
            raise Missing(
                f"{arguments.name!r} is not connected. Connected: {', '.join(networks.connectors) or 'none'}."
            )
        checks = []
        async for check in conformance.verify(
            networks.connectors[arguments.name],
            _types(networks, arguments.name),
            phone=arguments.phone,
            amount=arguments.amount,
            patience_seconds=arguments.seconds,
        ):
            checks.append(check)
            if not arguments.json:
                print(f"{'ok  ' if check.is_good else 'FAIL'}  {check.what}  ({check.said})", flush=True)
    if arguments.json:
        print_table(arguments, [check._asdict() for check in checks], empty="")
    return 0 if all(check.is_good for check in checks) else 1


def _types(networks: Networks, name: str) -> list[Type]:
    return list(dict.fromkeys(type_ for _, type_ in networks.carried_by(name)))

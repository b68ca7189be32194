"""malipo hold: operators stop the sending of all payments, or of a channel's, and release it again."""

import argparse
from datetime import datetime
from typing import Any

from malipo.audit_log.actor import Actor
from malipo.cli.authority import add_stdin
from malipo.cli.command_table import COMMANDS
from malipo.cli.database import write
from malipo.cli.output import print_result
from malipo.db import Tx
from malipo.errors import Invalid
from malipo.networks.connector import Channel, Type
from malipo.restore import hold
from malipo.settings import Settings

_TYPES = {"collections": Type.COLLECTION, "payouts": Type.DISBURSEMENT}


def add_commands(commands: Any) -> None:
    about = COMMANDS["hold"].help
    command = commands.add_parser("hold", help=about, description=about)
    command.add_argument("--channel", choices=[each.value for each in Channel], help="only this channel's payments")
    command.add_argument("--only", choices=list(_TYPES), help="only this channel's collections, or only its payouts")
    command.add_argument("--reason", help="why; required unless --release is given")
    command.add_argument("--release", action="store_true", help="end the hold")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(command=_hold)
    add_stdin(command)


def _hold(arguments: argparse.Namespace, settings: Settings) -> int:
    if arguments.only and not arguments.channel:
        raise Invalid("--only needs --channel.")
    if not arguments.release and not arguments.reason:
        raise Invalid("--reason says why it is held.")
    types = [_TYPES[arguments.only]] if arguments.only else list(Type)
    routes = [(arguments.channel, type_) for type_ in types] if arguments.channel else []

    async def act(tx: Tx, actor: Actor, now: datetime) -> None:
        if arguments.release:
            await hold.end(tx, routes, actor=actor, now=now)
        else:
            await hold.hold(tx, routes, arguments.reason.strip(), actor=actor, now=now)

    write(arguments, settings, act)
    scope = f"{arguments.channel} {arguments.only or 'payments'}" if routes else "all payments"
    shown = {"scope": scope, "isHeld": not arguments.release}
    words = [f"--channel {arguments.channel}"] * bool(arguments.channel) + [f"--only {arguments.only}"] * bool(
        arguments.only
    )
    release = " ".join(["malipo hold --release", *words])
    sentence = f"Released: {scope}." if arguments.release else f"Held: {scope}. To let them go: {release}"
    return print_result(arguments, shown, sentence)

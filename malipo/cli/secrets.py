"""malipo secrets …: rotation of the key that encrypts secrets: of webhooks, second factors, closes
and the receipt log."""

import argparse
from datetime import datetime
from typing import Any

from malipo.accounts.second_factor import enrol
from malipo.audit_log.actor import Actor
from malipo.cli.command_table import add_command
from malipo.cli.database import write
from malipo.cli.output import add_subcommand, print_result
from malipo.db import Tx
from malipo.encryption import Encryption
from malipo.receipts import log_keys
from malipo.reconciliation.close import signing_key
from malipo.settings import Settings
from malipo.settings.environment import require
from malipo.webhooks.rotate_secrets import reencrypt


def add_commands(commands: Any) -> None:
    secrets = add_command(commands, "secrets")
    acts = secrets.add_subparsers(title="acts", metavar="ACT", required=True)
    add_subcommand(acts, "rotate", _rotate, "encrypt every stored secret again, with MALIPO_SECRET_KEY")


def _rotate(arguments: argparse.Namespace, settings: Settings) -> int:
    require(settings, "secret_key")
    encryption = Encryption(*settings.secret_keys)

    async def act(tx: Tx, actor: Actor, now: datetime) -> tuple[int, int]:
        of_endpoints = await reencrypt(tx, encryption, actor=actor, now=now)
        found = (
            of_endpoints,
            await enrol.reencrypt(tx, encryption),
            await signing_key.reencrypt(tx, encryption),
            await log_keys.reencrypt(tx, encryption),
        )
        return sum(each[0] for each in found), sum(each[1] for each in found)

    changed, kept = write(arguments, settings, act)
    sentence = f"{changed} of {kept} secrets were encrypted under another key; all are under MALIPO_SECRET_KEY now."
    if settings.secret_key_previous is not None:
        sentence += " When every process has been restarted with it, MALIPO_SECRET_KEY_PREVIOUS can go."
    return print_result(arguments, {"resealed": changed, "secrets": kept}, sentence)

"""malipo secrets …: rotation of the key that encrypts webhook secrets."""

import argparse
from datetime import datetime
from typing import Any

from malipo.audit_log.actor import Actor
from malipo.cli.database import write
from malipo.cli.output import add_subcommand, tell
from malipo.db import Tx
from malipo.encryption import Encryption
from malipo.settings import Settings
from malipo.settings.environment import require
from malipo.webhooks.rotate_secrets import reencrypt


def add_commands(commands: Any) -> None:
    secrets = commands.add_parser("secrets", help="the key under which secrets are kept")
    acts = secrets.add_subparsers(title="acts", metavar="ACT", required=True)
    add_subcommand(acts, "rotate", _rotate, "encrypt every webhook secret under MALIPO_SECRET_KEY")


def _rotate(arguments: argparse.Namespace, settings: Settings) -> int:
    require(settings, "secret_key")
    assert settings.secret_key is not None
    previous = [settings.secret_key_previous] if settings.secret_key_previous is not None else []
    encryption = Encryption(settings.secret_key, *previous)

    async def act(tx: Tx, actor: Actor, now: datetime) -> tuple[int, int]:
        return await reencrypt(tx, encryption, actor=actor, now=now)

    changed, kept = write(settings, act)
    sentence = f"{changed} of {kept} secrets were encrypted under another key; all are under MALIPO_SECRET_KEY now."
    if previous:
        sentence += " When every process has been restarted with it, MALIPO_SECRET_KEY_PREVIOUS can go."
    return tell(arguments, {"resealed": changed, "secrets": kept}, sentence)

"""The confirmation before money moves."""

from __future__ import annotations

import argparse
import sys
from typing import cast

from malipo_client.cli.output import plain
from malipo_client.client import Malipo
from malipo_client.records import ChannelName
from malipo_client.request import new_idempotency_key


def confirm(question: str, *, is_given: bool) -> None:
    """Returns if the answer is yes."""
    if is_given:
        return
    if not sys.stdin.isatty():
        raise ValueError(f"{question} Nobody is here to confirm it: say --yes.")
    print(f"{plain(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes", "ndiyo"):
        raise ValueError("Not confirmed. Nothing was sent.")


def idempotency_key(arguments: argparse.Namespace) -> str:
    """The given key, or a new one. It is printed before anything is sent, so that a command that was killed can be
    repeated with it."""
    key = str(arguments.idempotency_key or new_idempotency_key())
    print(f"Idempotency key: {key}", file=sys.stderr, flush=True)
    return key


def channel_of(malipo: Malipo, arguments: argparse.Namespace) -> ChannelName:
    """The channel that was given, or the one that the number probably belongs to."""
    if arguments.channel:
        return cast("ChannelName", arguments.channel)
    suggested = [each.channel for each in malipo.channels.list(phone=arguments.phone) if each.suggested]
    if not suggested:
        raise ValueError("This number does not tell its network: say --channel.")
    return suggested[0]

"""`malipo-client events`: the feed, as lines."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from malipo_client.cli.output import plain, shillings, show
from malipo_client.client import Malipo
from malipo_client.records import Event, EventPage

_HELP = "show what happened to your payments"


def add_command(commands: Any, service: argparse.ArgumentParser) -> None:
    command = commands.add_parser("events", parents=[service], help=_HELP, description=_HELP)
    command.set_defaults(command=_events)
    command.add_argument(
        "--after", metavar="CURSOR", help="only what is behind it (default: from the oldest event kept)"
    )
    command.add_argument("--follow", action="store_true", help="go on as things happen (default: from now on)")


def _events(arguments: argparse.Namespace) -> int:
    after: str | None = arguments.after or ("latest" if arguments.follow else None)
    with Malipo(arguments.api_key, arguments.base_url) as malipo:
        if arguments.follow:
            for page in malipo.events.follow(after=after):
                _show(page, arguments)
        while True:
            page = malipo.events.read(after=after)
            _show(page, arguments)
            if not page.events:
                print(f"Go on with --after {plain(page.next)}", file=sys.stderr)
                return 0
            after = page.next


def _show(page: EventPage, arguments: argparse.Namespace) -> None:
    for event in page.events:
        show(event, _line(event), arguments)


def _line(event: Event) -> str:
    payment, batch = event.transaction, event.batch
    words = [event.created_at or "", event.event.ljust(17)]
    if payment is not None:
        words += [payment.reference, shillings(payment.amount).rjust(13), payment.status]
    elif batch is not None:
        words += [batch.id, shillings(batch.amount).rjust(13), batch.status]
    return plain("  ".join(words))

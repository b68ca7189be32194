"""malipo statements fetch: a day's statement, from a network's API."""

import argparse
import asyncio
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.cli.database import prove, write
from malipo.cli.output import add_subcommand
from malipo.cli.statements.import_result import print_both
from malipo.cli.statements.matching_result import match_now
from malipo.db import Tx
from malipo.errors import Invalid
from malipo.networks.connector import Channel
from malipo.networks.http.client import HttpClient
from malipo.networks.routing import connect
from malipo.reconciliation.imports.fetch_statement import FetchableAccount, account_of, fetch_file, require_over
from malipo.reconciliation.imports.import_statement import ImportResult, StatementImport, import_statement
from malipo.settings import Settings


def add_command(acts: Any) -> None:
    fetch = add_subcommand(acts, "fetch", _fetch, "fetch a day's statement from a network that has an API for it")
    fetch.add_argument("channel", choices=list(Channel), metavar="CHANNEL", help="such as AIRTEL_MONEY")
    fetch.add_argument("--day", type=_day, help="a day in Dar es Salaam time, such as 2026-11-15 (default: yesterday)")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Invalid(f"--day must be a day such as 2026-11-15, not {text!r}.") from None


def _fetch(arguments: argparse.Namespace, settings: Settings) -> int:
    now = clock.now()
    day = arguments.day or clock.day_of(now) - timedelta(days=1)
    require_over(day, now)
    prove(arguments, settings)
    with TemporaryDirectory(prefix="malipo-") as folder:
        # The network takes its time: not in the transaction.
        account, path = asyncio.run(_file(settings, Channel(arguments.channel), day, Path(folder)))

        async def act(tx: Tx, actor: Actor, now: datetime) -> tuple[ImportResult, Actor]:
            done = await import_statement(
                tx,
                StatementImport(
                    path,
                    channel=account.channel,
                    account=account.account,
                    profile=account.profile,
                ),
                actor=actor,
                now=now,
            )
            return done, actor

        done, actor = write(arguments, settings, act)
    return print_both(arguments, done, account.profile.name, match_now(settings, actor))


async def _file(settings: Settings, channel: Channel, day: date, folder: Path) -> tuple[FetchableAccount, Path]:
    async with HttpClient.opened() as http_client:
        account = account_of(connect(settings, http_client), channel)
        return account, await fetch_file(account, day, folder)

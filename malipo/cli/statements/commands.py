"""malipo statements …: what networks say of our accounts, imported."""

import argparse
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from malipo.audit_log.actor import Actor
from malipo.cli.command_table import add_command
from malipo.cli.database import with_database, write
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.cli.statements import charges, fetch, layout, matching_result, prompt_layout, waiting, withdraw
from malipo.cli.statements.import_result import print_both
from malipo.cli.statements.matching_result import match_now
from malipo.cli.statements.progress_bar import ProgressBar
from malipo.db import Database, Tx
from malipo.errors import Invalid, Missing
from malipo.network_statements.profile import StatementProfile
from malipo.networks.connector import Channel
from malipo.reconciliation.imports.import_statement import (
    ImportResult,
    StatementImport,
    UnknownStatuses,
    find_same_elsewhere,
    import_statement,
)
from malipo.reconciliation.imports.refuse_conflicting_file import refuse_same_elsewhere
from malipo.reconciliation.statements.choose_profile import (
    NoProfileFits,
    all_profiles,
    choose_profile,
    find_profile,
    save_if_new,
    save_status_words,
)
from malipo.reconciliation.statements.store import statements as store
from malipo.reconciliation.statements.typed_period import period_of
from malipo.settings import Settings
from malipo.table_files.rows import line_count

_MOST_FILES = 100


def add_commands(commands: Any) -> None:
    statements = add_command(commands, "statements")
    acts = statements.add_subparsers(title="acts", metavar="ACT", required=True)
    import_ = add_subcommand(acts, "import", _import, "import a network's statement, CSV or XLSX")
    import_.add_argument("file", type=Path, help="the file as downloaded from the network's portal")
    import_.add_argument("--channel", choices=list(Channel), required=True)
    import_.add_argument(
        "--account", default="", help="the account, if there are several at that network (default: the only one)"
    )
    import_.add_argument("--profile", help="the layout to read it with (default: the one that knows its columns)")
    import_.add_argument(
        "--from", dest="begins", metavar="TIME", help="the statement's first day, if the file does not say: 2026-11-15"
    )
    import_.add_argument(
        "--to",
        dest="ends",
        metavar="TIME",
        help="the statement's end: 2026-11-15 means the end of that day; or 2026-11-15T14:00",
    )
    import_.add_argument(
        "--accept-problems",
        action="store_true",
        help="import the file although it does not add up; it then cannot show that a payment is missing",
    )
    import_.add_argument(
        "--new-account",
        action="store_true",
        help="import the file although none of its payments is known, such as an account's first statement",
    )
    fetch.add_command(acts)
    list_ = add_subcommand(acts, "list", _list, f"the latest {_MOST_FILES} that were imported")
    list_.add_argument("--channel", choices=list(Channel))
    add_subcommand(acts, "profiles", _profiles, "list the known layouts of statements")
    layout.add_command(acts)
    add_subcommand(acts, "match", _match, "match imported statements with payments again")
    withdraw.add_commands(acts)
    waiting.add_commands(acts)
    charges.add_subcommands(acts)


def _import(arguments: argparse.Namespace, settings: Settings) -> int:
    path: Path = arguments.file
    if not path.is_file():
        raise Missing(f"There is no file {str(path)!r}.")
    if len(arguments.account) > 60 or not (arguments.account.isprintable()):
        raise Invalid("--account must be up to 60 printable characters.")
    channel = Channel(arguments.channel)
    period = period_of(arguments.begins or "", arguments.ends or "")

    # Asking takes as long as the operator takes, so it is not done in the transaction.
    profile = with_database(settings, lambda database: _choose(arguments, database, path, channel))

    def run(choices: layout.StatusWordChoices) -> tuple[ImportResult, Actor]:
        async def act(tx: Tx, actor: Actor, now: datetime) -> tuple[ImportResult, Actor]:
            await save_if_new(tx, profile, actor=actor, now=now)
            if choices.moved or choices.not_moved:
                words = {"moved": choices.moved, "not_moved": choices.not_moved}
                await save_status_words(tx, profile.name, **words, actor=actor, now=now)
            done = await import_statement(
                tx,
                StatementImport(
                    path,
                    channel=channel,
                    account=arguments.account,
                    profile=choices.of(profile, by=actor.name),
                    accepts_problems=arguments.accept_problems,
                    is_new_account=arguments.new_account,
                    period=period,
                    progress=bar.show,
                ),
                actor=actor,
                now=now,
            )
            return done, actor

        with ProgressBar(sys.stderr, "lines", total=line_count(path), is_quiet=arguments.json) as bar:
            return write(arguments, settings, act)

    try:
        done, actor = run(layout.StatusWordChoices())
    except UnknownStatuses as unknown:
        if not sys.stdin.isatty():
            raise
        done, actor = run(layout.prompt_words(unknown.words))
    return print_both(arguments, done, profile.name, match_now(settings, actor))


async def _choose(arguments: argparse.Namespace, database: Database, path: Path, channel: Channel) -> StatementProfile:
    async with database.read() as connection:
        if arguments.profile is not None:
            return await find_profile(connection, arguments.profile)
        try:
            return await choose_profile(connection, path, channel)
        except NoProfileFits:
            if other := await find_same_elsewhere(connection, path, channel, arguments.account):
                refuse_same_elsewhere(other)
            return prompt_layout.prompt_profile(path, channel, account=arguments.account)


def _match(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> Actor:
        return actor

    found = match_now(settings, write(arguments, settings, act))
    return print_result(arguments, matching_result.as_json(found), matching_result.in_words(found))


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        channel = Channel(arguments.channel) if arguments.channel else None
        async with database.read() as connection:
            found = await store.find_files(connection, channel=channel, limit=_MOST_FILES)
        return [
            {
                "id": file.id,
                "file": file.name,
                "channel": file.channel,
                "account": file.account or None,
                "from": file.begins_at,
                "to": file.ends_at,
                "opening": file.opening,
                "closing": file.closing,
                "lines": file.line_count,
                "new": file.new_count,
                "adds up": not file.problems,
                "withdrawn": file.withdrawn_at is not None,
                "by": file.imported_by,
            }
            for file in found
        ]

    numbers = ("opening", "closing", "lines", "new")
    return print_table(arguments, with_database(settings, act), empty="No statement was imported yet.", right=numbers)


def _profiles(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.read() as connection:
            profiles = await all_profiles(connection)
        return [
            {
                "profile": name,
                "channels": each.channels,
                "aggregator": each.carrier or None,
                "moved": each.completed,
                "not moved": each.failed if each.completed else (),
                "saved by": each.said_by.columns or None,
                "words by": sorted(set(each.said_by.words.values())),
                "reads": each.title,
            }
            for name, each in sorted(profiles.items())
        ]

    return print_table(arguments, with_database(settings, act), empty="There are none.")

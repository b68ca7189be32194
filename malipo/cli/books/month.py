"""malipo books month: what is missing or open at the end of a month, and its archive for accountants and auditors."""

import argparse
import sys
from pathlib import Path
from typing import Any

import asyncpg

from malipo import money
from malipo.audit_log import store as audit_log
from malipo.books import store
from malipo.cli.actor import find_actor
from malipo.cli.authority import AUTHORITY
from malipo.cli.database import with_database
from malipo.cli.output import add_subcommand, print_result
from malipo.dashboard.operator.books_words import archive_words
from malipo.db import Database
from malipo.db.database_time import database_now
from malipo.db.errors import ReadOnly
from malipo.encryption import Encryption
from malipo.ledger.check import prepare
from malipo.month_end import checklist
from malipo.month_end.archive import archive_pieces, file_name, find_key
from malipo.month_end.checklist import MonthEnd, require_archivable
from malipo.month_end.month import Month, month_before, parse_month
from malipo.settings import Settings
from malipo.settings.environment import require
from malipo.words.say import say


def add_subcommands(acts: Any) -> None:
    month = add_subcommand(
        acts, "month", _month, "what is missing or open at the end of a month; exit code 1 if something is missing"
    )
    month.add_argument("month", nargs="?", metavar="MONTH", help="such as 2026-10; without it: the last one")
    month.add_argument("--archive", type=Path, metavar="FILE.zip", help="write all of the month into one file")


def _month(arguments: argparse.Namespace, settings: Settings) -> int:
    typed = None if arguments.month is None else parse_month(arguments.month)

    async def act(database: Database) -> MonthEnd:
        async with database.read() as connection:
            now = await database_now(connection)
        month = typed or month_before(now)
        if arguments.archive is not None:
            require(settings, "secret_key")
            await _archive(database, month, arguments.archive, settings)
            await _note(database, month, settings)
        async with database.snapshot() as connection:
            await prepare(connection)
            return await checklist.find(connection, month, now=now)

    found = with_database(settings, act)
    as_json = {
        "month": str(found.month),
        "closedDays": len(found.closed),
        "missing": [{"code": each.code, "sentence": say(each), **each.values} for each in found.missing],
        "open": [{"code": each.code, "sentence": say(each), **each.values} for each in found.open],
        "canBeArchived": found.period is not None,
        "file": None if arguments.archive is None else str(arguments.archive),
    }
    print_result(arguments, as_json, "\n".join(_lines(found, arguments.archive)))
    return 0 if found.is_complete else 1


def _lines(found: MonthEnd, file: Path | None) -> list[str]:
    lines = [f"{found.month}: closed days: {len(found.closed)}."]
    lines += ["Missing:", *(f"  {say(each)}" for each in found.missing)] if found.missing else ["Nothing is missing."]
    lines += ["Open:", *(f"  {say(each)}" for each in found.open)] if found.open else ["Nothing is open."]
    if (safe := found.safeguarding) is not None:
        lines.append(
            f"At the end of {safe.day} merchants own {money.display(safe.merchants)}; "
            f"{money.display(safe.there)} are there."
        )
    if file is not None:
        lines.append(f"{file}: check it with python3 check_archive.py, which is in it, or with sha256sum.")
    return lines


async def _archive(database: Database, month: Month, file: Path, settings: Settings) -> None:
    """Under another name until it is whole: nobody takes a part for the archive."""
    async with database.snapshot() as connection:
        period = await require_archivable(connection, month)
        key = await find_key(connection, period, Encryption(*settings.secret_keys))
        said = archive_words(period, await store.find_names(connection), settings.company_name)
        unfinished = file.with_name(f"{file.name}.part")
        try:
            with unfinished.open("wb") as part:
                async for piece in archive_pieces(connection, month, said, period, key):
                    part.write(piece)
            unfinished.replace(file)
        finally:
            unfinished.unlink(missing_ok=True)


async def _note(database: Database, month: Month, settings: Settings) -> None:
    """The audit log says who has a file with every merchant's money in it, as it does of a download. Where the database
    can only be read, its own log has to say so."""
    try:
        async with database.begin() as tx:
            now = await database_now(tx)
            actor = await find_actor(tx, settings, AUTHORITY["books month"], now=now)
            over = max(now, month.ends)  # A month that is archived is over, and this is no part of it.
            await audit_log.append(tx, actor, "books.downloaded", now=over, file=file_name(month))
    except (ReadOnly, asyncpg.InsufficientPrivilegeError):
        print("malipo: The database can only be read here: the audit log does not have this archive.", file=sys.stderr)

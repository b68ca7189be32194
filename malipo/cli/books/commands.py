"""malipo books …: trial balance and journal, for accountants."""

import argparse
import sys
from pathlib import Path
from typing import IO, Any

from malipo import money
from malipo.bank.balance import find_seen
from malipo.books import store
from malipo.books.chart import CHART, SubAccount, chart_account
from malipo.books.read_journal import Period
from malipo.books.trial_balance import TrialBalance, find_trial_balance
from malipo.books.vouchers import require_closed
from malipo.books.write_journal import FORMATS, VOUCHERS, JournalWriter, VoucherWriter
from malipo.cli.books import bank_bookings, month, suspense
from malipo.cli.command_table import add_command
from malipo.cli.database import with_database
from malipo.cli.output import add_subcommand, cell, print_result, print_table
from malipo.dashboard.language import Translator
from malipo.dashboard.operator.books_words import journal_words, part_names
from malipo.db import Database
from malipo.errors import Missing
from malipo.http.accept_language import Language
from malipo.ledger.check import prepare
from malipo.reconciliation.close.business_day import parse_day
from malipo.reconciliation.close.plain_text import safeguarding_lines
from malipo.reconciliation.close.safeguarding import Cover, Safeguarding, safeguarding_of, with_bank
from malipo.reconciliation.close.store import closes
from malipo.settings import Settings
from malipo.words import books as words


def add_commands(commands: Any) -> None:
    acts = add_command(commands, "books").add_subparsers(title="acts", metavar="ACT", required=True)
    balance = add_subcommand(
        acts,
        "trial-balance",
        _trial_balance,
        "every account; exit code 1 if it differs from a signed close",
    )
    balance.add_argument("--at", type=parse_day, metavar="DAY", help="at the end of this day; without it: now")
    balance.add_argument("--merchants", action="store_true", help="a line for each merchant")
    journal = add_subcommand(
        acts, "journal", _journal, "every entry of a period; exit code 1 if it differs from a signed close"
    )
    journal.add_argument("--format", choices=list(FORMATS), required=True, help="what the file is read with")
    vouchers = add_subcommand(acts, "vouchers", _vouchers, "a summary voucher for each closed day")
    vouchers.add_argument("--format", choices=list(VOUCHERS), required=True, help="the program that imports them")
    vouchers.add_argument("--opening", action="store_true", help="begin with the balances before the first day")
    accounts = add_subcommand(acts, "accounts", _accounts, "the chart of accounts")
    for act in (journal, vouchers):
        act.add_argument("--from", type=parse_day, required=True, dest="first", metavar="DAY", help="the first day")
        act.add_argument("--to", type=parse_day, required=True, dest="last", metavar="DAY", help="the last day")
        act.add_argument("--output", type=Path, metavar="FILE", help="the file; without it: standard output")
    safeguarding = add_subcommand(
        acts,
        "safeguarding",
        _safeguarding,
        "what merchants own beside what is there; exit code 1 if not covered",
    )
    safeguarding.add_argument("--at", type=parse_day, metavar="DAY", help="a closed day; without it: the last one")
    month.add_subcommands(acts)
    suspense.add_subcommands(acts)
    bank_bookings.add_subcommands(acts)
    for act in (balance, journal, vouchers, accounts):
        act.add_argument("--language", choices=list(Language), default=Language.ENGLISH, help="of the names")


def _trial_balance(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> tuple[TrialBalance, dict[str, str]]:
        async with database.snapshot() as connection:
            await prepare(connection)
            return await find_trial_balance(connection, arguments.at), await store.find_names(connection)

    found, names = with_database(settings, act)
    say = Translator(arguments.language)
    rows = [_row(each, amount, names, say) for each, amount in found.shown(is_by_merchant=arguments.merchants).items()]
    as_json = {
        "at": found.at,
        "isClosed": found.is_closed,
        "agrees": not found.differing,
        "debits": sum(row["debit"] for row in rows),
        "credits": sum(row["credit"] for row in rows),
        "accounts": rows,
        "differing": [
            {"account": name, "books": books, "close": signed} for name, (books, signed) in found.differing.items()
        ],
    }
    print_result(arguments, as_json, "\n".join(_lines(found, rows)))
    return 1 if found.differing else 0


def _row(account: SubAccount, amount: int, names: dict[str, str], say: Translator) -> dict[str, Any]:
    return {
        "code": account.code,
        "name": say(words.ACCOUNTS[account.account]),
        "of": account.of or None,
        "ofName": part_names(names, say).get(account.of),
        "type": chart_account(account.account).type,
        "debit": max(amount, 0),
        "credit": max(-amount, 0),
    }


def _lines(found: TrialBalance, rows: list[dict[str, Any]]) -> list[str]:
    when = "now" if found.at is None else f"at the end of {found.at}"
    lines = [f"Trial balance {when}, in {money.CURRENCY}.", ""]
    for row in rows:
        name = " ".join(filter(None, (row["name"], row["ofName"] or row["of"])))
        lines.append(f"{row['code']}  {name:<42} {_amount(row['debit']):>20} {_amount(row['credit']):>20}")
    debit, credit = (cell(sum(row[side] for row in rows)) for side in ("debit", "credit"))
    lines.append(f"{'':4}  {'total':<42} {debit:>20} {credit:>20}")
    lines += ["", *_verdict(found)]
    return lines


def _amount(amount: int) -> str:
    return cell(amount) if amount else ""


def _verdict(found: TrialBalance) -> list[str]:
    if found.differing:
        return [_difference(f"{found.at}", found.differing)]
    if found.is_closed:
        return ["The day is closed, and every account is as its signed close says."]
    return [] if found.at is None else ["The day is not closed: more may be dated into it."]


def _difference(day: str, differing: Any) -> str:
    each = [f"{name} {books:,}, by the close {signed:,}" for name, (books, signed) in differing.items()]
    return f"{day} differs from its signed close: {'; '.join(each)}. See: malipo close verify --ledger"


def _journal(arguments: argparse.Namespace, settings: Settings) -> int:
    period = Period.of(arguments.first, arguments.last)

    async def act(database: Database) -> tuple[dict[str, int], list[str]]:
        with _opened(arguments.output) as file:
            return await _write(database, period, arguments.format, Translator(arguments.language), file)

    written, findings = with_database(settings, act)
    if arguments.output is not None:
        sentence = f"{arguments.output}: {written['entries']:,} entries, closed days: {written['closedDays']:,}."
        print_result(arguments, {**written, "file": str(arguments.output), "findings": findings}, sentence)
    for each in findings:
        print(f"malipo: {each}", file=sys.stderr)
    return 1 if findings else 0


class _StandardOutput:
    """Standard output, which is not closed."""

    def __enter__(self) -> IO[str]:
        return sys.stdout

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()


def _opened(path: Path | None) -> Any:
    return _StandardOutput() if path is None else path.open("w", encoding="utf-8", newline="")


async def _write(
    database: Database, period: Period, format_: str, say: Translator, file: IO[str]
) -> tuple[dict[str, int], list[str]]:
    async with database.snapshot() as connection:
        await prepare(connection)
        writer = JournalWriter(FORMATS[format_](journal_words(period, await store.find_names(connection), say)))
        async for piece in writer.pieces(connection, period):
            file.write(piece)
    written = {"entries": writer.entries, "lines": writer.lines, "closedDays": writer.closed_days}
    return written, [_difference(f"{day}", each) for day, each in writer.differing.items()]


def _vouchers(arguments: argparse.Namespace, settings: Settings) -> int:
    period, say = Period.of(arguments.first, arguments.last), Translator(arguments.language)

    async def act(database: Database) -> int:
        async with database.snapshot() as connection:
            await prepare(connection)
            names = await store.find_names(connection)
            writer = VoucherWriter(VOUCHERS[arguments.format](journal_words(period, names, say)))
            await require_closed(connection, period)
            with _opened(arguments.output) as file:
                async for piece in writer.pieces(connection, period, with_opening=arguments.opening):
                    file.write(piece)
        return writer.vouchers

    count = with_database(settings, act)
    if arguments.output is not None:
        print_result(
            arguments, {"vouchers": count, "file": str(arguments.output)}, f"{arguments.output}: {count:,} vouchers."
        )
    return 0


def _accounts(arguments: argparse.Namespace, settings: Settings) -> int:
    say = Translator(arguments.language)
    rows = [
        {
            "code": each.code,
            "name": say(words.ACCOUNTS[each.account]),
            "type": say(words.TYPES[each.type]),
            "in files": each.path,
            "divided by": each.division,
        }
        for each in CHART
    ]
    return print_table(arguments, rows, empty="")


def _safeguarding(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> Safeguarding:
        async with database.snapshot() as connection:
            last = next(iter(await closes.find_latest(connection, limit=1)), None)
            closed = last if arguments.at is None else await closes.find(connection, arguments.at)
            if closed is None:
                raise Missing("No day is closed yet." if arguments.at is None else f"{arguments.at} is not closed.")
            # What the bank says now shows nothing of an earlier day.
            bank = await find_seen(connection) if last is not None and closed.day == last.day else None
        return with_bank(safeguarding_of(closed.close), bank)

    found = with_database(settings, act)
    as_json = {
        "day": found.day,
        "cover": found.cover,
        "merchantsOwn": {"total": found.merchants, "accounts": dict(found.owned)},
        "isThere": {"total": found.there, "places": list(found.places)},
        "difference": found.difference,
        "own": found.own,
        "explained": found.explained,
        "missing": found.missing,
        "unexplained": found.unexplained,
    }
    print_result(
        arguments, as_json, "\n".join([f"At the end of {found.day}, in {money.CURRENCY}.", *safeguarding_lines(found)])
    )
    return 0 if found.cover is Cover.COVERED else 1

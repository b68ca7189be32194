"""malipo ledger …: the ledger check."""

import argparse
import sys
from typing import Any

from malipo import clock, money
from malipo.bank.store import checks as bank_checks
from malipo.cli.command_table import add_command
from malipo.cli.database import with_database
from malipo.cli.output import add_subcommand, print_result
from malipo.db import Database
from malipo.db.schema import migrations
from malipo.ledger import check as ledger_check
from malipo.ledger.check import LedgerFinding
from malipo.ledger.store import checks
from malipo.ledger.store.checks import LedgerCheck
from malipo.payments.check import newer_rows
from malipo.payments.check import transactions as transactions_check
from malipo.settings import Settings

NEEDS_NEWER = 3  # the exit code if nothing is wrong, and a newer version must check the rest


def add_commands(commands: Any) -> None:
    ledger = add_command(commands, "ledger")
    acts = ledger.add_subparsers(title="acts", metavar="ACT", required=True)
    check = add_subcommand(
        acts,
        "check",
        _check,
        "recompute every balance from the moves; exit code 1 if anything differs, 3 if it takes a newer version",
    )
    check.add_argument("--last", action="store_true", help="show the findings of the workers' last check")


def _check(arguments: argparse.Namespace, settings: Settings) -> int:
    return _last(arguments, settings) if arguments.last else _check_now(arguments, settings)


def _last(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print the findings of the last check by a worker that has ended, or of the running one if it has found any."""

    async def act(database: Database) -> tuple[LedgerCheck | None, LedgerCheck | None]:
        async with database.read() as connection:
            return await checks.find_last(connection), await checks.find_running(connection)

    last, running = with_database(settings, act)
    shown = running if running is not None and running.findings else last
    if shown is None:
        print_result(
            arguments, None, "No check has ended yet. Workers check the ledger every MALIPO_LEDGER_CHECK_SECONDS."
        )
        return 0
    if arguments.json:
        print_result(arguments, {**_summary(shown.finding_count, shown.findings), **shown._asdict()}, "")
    else:
        ended = "runs since" if shown.finished_at is None else "ended at"
        at = clock.iso(shown.finished_at or shown.started_at)
        print(f"The check {shown.id} {ended} {at}: {shown.piece_count} pieces, {shown.busy_seconds:.1f} s of work.")
        _print_findings(shown.findings)
    return _exit_code(shown.finding_count, shown.findings)


def _check_now(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> tuple[dict[str, int], list[LedgerFinding]]:
        # One snapshot for all of it, so that payments that arrive meanwhile do not look like differences.
        async with database.snapshot() as connection:
            await ledger_check.prepare(connection)
            _progress("adding up every account ...")
            balances = await ledger_check.balances(connection)
            _progress("recomputing every wallet and statement ...")
            findings = await ledger_check.check(connection)
            _progress("holding every transaction against its moves and events ...")
            findings += await transactions_check.check(connection)
            _progress("holding every line of the bank against its settlement or booking ...")
            findings += await bank_checks.wrong_lines(connection)
            return balances, await newer_rows.mark(connection, findings, lists_words=True)

    balances, findings = with_database(settings, act)
    if arguments.json:
        print_result(
            arguments, {**_summary(_wrong(findings), findings), "balances": balances, "findings": findings}, ""
        )
    else:
        _print_balances(balances)
        _print_findings(findings)
    return _exit_code(_wrong(findings), findings)


def _wrong(findings: list[LedgerFinding]) -> int:
    return sum(each.is_wrong for each in findings)


def _needed_schema(findings: list[LedgerFinding]) -> int | None:
    return max((each.newer_schema for each in findings if each.newer_schema is not None), default=None)


def _summary(wrong: int, findings: list[LedgerFinding]) -> dict[str, Any]:
    needs = _needed_schema(findings)
    return {"isClean": not wrong and needs is None, "needsSchema": needs}


def _exit_code(wrong: int, findings: list[LedgerFinding]) -> int:
    if wrong:
        return 1
    return 0 if _needed_schema(findings) is None else NEEDS_NEWER


def _progress(what: str) -> None:
    """Print progress at a terminal, because each step takes a while on a large ledger."""
    if sys.stderr.isatty():
        print(f"malipo: {what}", file=sys.stderr)


def _print_balances(balances: dict[str, int]) -> None:
    for account, balance in balances.items():
        print(f"{account:<20} {money.display(balance):>24}")
    print(f"{'sum':<20} {money.display(sum(balances.values())):>24}\n")


def _print_findings(findings: list[LedgerFinding]) -> None:
    if not findings:
        print("The book is clean: every balance is what its moves say.")
        return
    wrong, schema = [each for each in findings if each.is_wrong], _needed_schema(findings)
    if wrong:
        print(f"The book is NOT clean: {len(wrong)} findings.", file=sys.stderr)
        _print_each(wrong)
    if schema is not None:
        print(
            f"A newer version has written rows that this one cannot check. They are not known to be wrong. Check the "
            f"book with a version that has migration {schema}; this one has {migrations()[-1].number}.",
            file=sys.stderr,
        )
        _print_each([each for each in findings if not each.is_wrong])


def _print_each(findings: list[LedgerFinding]) -> None:
    for finding in findings:
        stored, computed = (
            "nothing" if amount is None else f"{amount:,}" for amount in (finding.stored, finding.computed)
        )
        amounts = "" if stored == computed else f" is {stored}, should be {computed}"
        print(f"  {finding.where}: {finding.what}{amounts}", file=sys.stderr)

"""malipo ledger …: the ledger check."""

import argparse
import sys
from typing import Any

from malipo import money
from malipo.cli.database import with_database
from malipo.cli.output import add_subcommand, tell
from malipo.db import Database
from malipo.ledger import check as ledger_check
from malipo.ledger.check import Finding
from malipo.payments.check import transactions as transactions_check
from malipo.settings import Settings


def add_commands(commands: Any) -> None:
    ledger = commands.add_parser("ledger", help="the book")
    acts = ledger.add_subparsers(title="acts", metavar="ACT", required=True)
    add_subcommand(acts, "check", _check, "recompute every balance from the moves; exit code 1 if anything differs")


def _check(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> tuple[dict[str, int], list[Finding]]:
        # One snapshot for all of it, so that payments that arrive meanwhile do not look like differences.
        async with database.snapshot() as connection:
            await ledger_check.prepare(connection)
            _progress("adding up every account ...")
            balances = await ledger_check.balances(connection)
            _progress("recomputing every wallet and statement ...")
            findings = await ledger_check.check(connection)
            _progress("holding every transaction against its moves and events ...")
            return balances, findings + await transactions_check.check(connection)

    balances, findings = with_database(settings, act)
    if arguments.json:
        tell(arguments, {"isClean": not findings, "balances": balances, "findings": findings}, "")
    else:
        _print_balances(balances)
        _print_findings(findings)
    return 1 if findings else 0


def _progress(what: str) -> None:
    """On a large ledger each step takes a while; progress is printed at a terminal."""
    if sys.stderr.isatty():
        print(f"malipo: {what}", file=sys.stderr)


def _print_balances(balances: dict[str, int]) -> None:
    for account, balance in balances.items():
        print(f"{account:<20} {money.display(balance):>24}")
    print(f"{'sum':<20} {money.display(sum(balances.values())):>24}\n")


def _print_findings(findings: list[Finding]) -> None:
    if not findings:
        print("The book is clean: every balance is what its moves say.")
        return
    print(f"The book is NOT clean: {len(findings)} findings.", file=sys.stderr)
    for finding in findings:
        stored, computed = (
            "nothing" if amount is None else f"{amount:,}" for amount in (finding.stored, finding.computed)
        )
        amounts = "" if stored == computed else f" is {stored}, should be {computed}"
        print(f"  {finding.where}: {finding.what}{amounts}", file=sys.stderr)

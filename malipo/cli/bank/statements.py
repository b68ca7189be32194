"""malipo bank import, statements and withdraw: the bank's statements."""

import argparse
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from malipo import money
from malipo.approvals.operator_limits import with_limits
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.bank import withdraw_statement
from malipo.bank.import_statement import BankImport, import_statement
from malipo.bank.match_bank_lines import BankMatchingSummary
from malipo.bank.payer_account import PayerAccount
from malipo.bank.read_statement import read_file
from malipo.bank.statement import StoredStatement
from malipo.bank.store import payer_accounts
from malipo.bank.store import statements as store
from malipo.cli.authority import add_alone
from malipo.cli.bank.words import APPROVE_AT, cents
from malipo.cli.database import with_database, write
from malipo.cli.hints import say_with_hint
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.db import Database, Tx
from malipo.errors import Missing
from malipo.settings import Settings

_MOST = 100


def add_commands(acts: Any) -> None:
    import_ = add_subcommand(acts, "import", _import, "import a bank's statement: camt.053, MT940, CSV or XLSX")
    import_.add_argument("file", type=Path, help="the file as downloaded from the bank")
    import_.add_argument(
        "--account", default="", help="which of our accounts, by its number, if a table does not say it"
    )
    import_.add_argument(
        "--accept-problems",
        action="store_true",
        help="import the statement although it does not add up; it then covers no day",
    )
    add_alone(import_)
    add_subcommand(acts, "statements", _list, f"the latest {_MOST} that were imported")
    withdrawal = add_subcommand(
        acts, "withdraw", _withdraw, "withdraw a statement that was wrongly imported; another operator must approve it"
    )
    withdrawal.add_argument("statement", help="the statement's id, from malipo bank statements")
    withdrawal.add_argument("--reason", required=True, help="why")


def _import(arguments: argparse.Namespace, settings: Settings) -> int:
    path: Path = arguments.file
    if not path.is_file():
        raise Missing(f"There is no file {str(path)!r}.")

    async def find(database: Database) -> list[PayerAccount]:
        async with database.read() as connection:
            return await payer_accounts.find_all(connection)

    # A file is read before the transaction, because that takes as long as the file is large.
    read = read_file(path, with_database(settings, find), number=arguments.account)

    async def act(tx: Tx, actor: Actor, now: datetime) -> list[BankImport]:
        limited = await with_limits(tx, settings)
        return [
            await import_statement(
                tx,
                each,
                approval_amount=limited.booking_approval_amount,
                accepts_problems=arguments.accept_problems,
                is_single_operator=arguments.alone,
                actor=actor,
                now=now,
            )
            for each in read
        ]

    done = write(arguments, settings, act)
    return print_result(arguments, [_as_json(each) for each in done], "\n".join(_in_words(each) for each in done))


def _as_json(done: BankImport) -> dict[str, Any]:
    return {
        **_row(done.statement),
        "isRepeat": done.is_repeat,
        "waits": done.proposal is not None,
        "problems": [each.code for each in done.problems],
        **found_as_json(done.found),
    }


def found_as_json(found: BankMatchingSummary) -> dict[str, Any]:
    return {
        "completed": found.completed,
        "completedAmount": found.completed_amount,
        "returned": found.returned,
        "returnedAmount": found.returned_amount,
        "bookings": found.bookings,
        "exceptions": msgspec.to_builtins(found.exceptions),
    }


def _in_words(done: BankImport) -> str:
    statement = done.statement
    if done.is_repeat:
        return f"{statement.name} was imported before, as {statement.id}; nothing has changed."
    lines = f"Imported {statement.name} as {statement.id}: {statement.line_count} lines, {statement.new_count} new."
    problems = [f"Accepted: {say_with_hint(each)}" for each in done.problems]
    if done.proposal is not None:
        amount = money.display(statement.amount)
        waits = f"It would end settlements of {amount}. {APPROVE_AT.format(name=statement.id)}"
        return "\n".join([lines, *problems, waits])
    return "\n".join([lines, *problems, found_in_words(done.found)])


def found_in_words(found: BankMatchingSummary) -> str:
    said = [
        f"Completed {found.completed} settlements of {money.display(found.completed_amount)}",
        f"returned {found.returned} of {money.display(found.returned_amount)}",
        f"found {found.bookings} bookings.",
    ]
    sentence = ", ".join(said)
    if found.exceptions:
        kinds = ", ".join(f"{kind.replace('_', ' ')} {count}" for kind, count in sorted(found.exceptions.items()))
        sentence += f" Without a place: {kinds}. See: malipo bank exceptions"
    return sentence


def _row(statement: StoredStatement) -> dict[str, Any]:
    return {
        "id": statement.id,
        "file": statement.name,
        "format": statement.format,
        "state": statement.state,
        "from": None if statement.begins_on is None else statement.begins_on.isoformat(),
        "to": None if statement.ends_on is None else statement.ends_on.isoformat(),
        "opening": None if statement.opening is None else cents(statement.opening),
        "closing": None if statement.closing is None else cents(statement.closing),
        "lines": statement.line_count,
        "new": statement.new_count,
        "complete": statement.is_complete,
        "by": statement.imported_by,
    }


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[StoredStatement]:
        async with database.read() as connection:
            return await store.find(connection, limit=_MOST)

    rows = [_row(each) for each in with_database(settings, act)]
    right = ("opening", "closing", "lines", "new")
    return print_table(arguments, rows, empty="No statement was imported yet.", right=right)


def _withdraw(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> Proposal:
        return await withdraw_statement.propose(tx, arguments.statement, reason=arguments.reason, actor=actor, now=now)

    proposal = write(arguments, settings, act)
    shown = {"id": proposal.id, "statement": proposal.subject, "isProposed": True}
    sentence = f"Proposed to withdraw {proposal.subject}. {APPROVE_AT.format(name=proposal.subject)}"
    return print_result(arguments, shown, sentence)

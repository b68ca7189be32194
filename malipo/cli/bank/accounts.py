"""malipo bank accounts, add-account and balance."""

import argparse
from datetime import datetime
from pathlib import Path
from typing import Any

from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.bank import add_payer_account
from malipo.bank.balance import BankBalance, find_balance
from malipo.bank.payer_account import FileFormat, PayerAccount
from malipo.bank.store import payer_accounts as store
from malipo.cli.bank.words import APPROVE_AT, cents
from malipo.cli.database import with_database, write
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.cli.wallet_bookings import amount_of
from malipo.db import Database, Tx
from malipo.errors import Missing
from malipo.settings import Settings

_YES_NO = {"yes": True, "no": False}


def add_commands(acts: Any) -> None:
    add_subcommand(acts, "accounts", _list, "list our bank accounts, from which settlements are paid")
    add = add_subcommand(acts, "add-account", _add, "add one, or change it; another operator must approve it")
    add.add_argument("number", help="the account's number, as the bank's statements write it")
    add.add_argument("--bic", required=True, help="the bank's BIC, such as CORUTZTZ")
    add.add_argument("--name", required=True, help="the holder's name, as the bank knows it")
    add.add_argument("--format", choices=list(FileFormat), default=FileFormat.PAIN001, help="of payout files")
    add.add_argument("--payout-layout", type=Path, metavar="FILE", help="TOML: the columns of a payout file in CSV")
    add.add_argument(
        "--statement-layout", type=Path, metavar="FILE", help="TOML: the columns of a statement as a table"
    )
    add.add_argument("--one-sum", choices=list(_YES_NO), help="ask the bank to book a file as one sum, or not to")
    add.add_argument("--urgent-above", metavar="AMOUNT", help="transfers above this amount go by the real-time rail")
    add_subcommand(acts, "balance", _balance, "compare the bank's balance with the ledger's, and name the difference")


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[PayerAccount]:
        async with database.read() as connection:
            return await store.find_all(connection)

    rows = [
        {
            "id": each.id,
            "number": each.number,
            "bic": each.bic,
            "name": each.name,
            "format": each.format,
            "one sum": each.books_one_sum,
            "urgent above": each.urgent_above,
        }
        for each in with_database(settings, act)
    ]
    return print_table(arguments, rows, empty="There are none: malipo bank add-account", right=("urgent above",))


def _add(arguments: argparse.Namespace, settings: Settings) -> int:
    account = PayerAccount(
        bic=arguments.bic.strip().upper(),
        number=arguments.number.strip(),
        name=arguments.name.strip(),
        format=FileFormat(arguments.format),
        payout_layout=_text(arguments.payout_layout),
        statement_layout=_text(arguments.statement_layout),
        books_one_sum=None if arguments.one_sum is None else _YES_NO[arguments.one_sum],
        urgent_above=None if arguments.urgent_above is None else amount_of(arguments.urgent_above),
    )

    async def act(tx: Tx, actor: Actor, now: datetime) -> Proposal:
        return await add_payer_account.propose(tx, account, actor=actor, now=now)

    proposal = write(arguments, settings, act)
    shown = {"id": proposal.id, "number": account.number, "isProposed": True}
    return print_result(
        arguments, shown, f"Proposed the account {account.number}. {APPROVE_AT.format(name=account.number)}"
    )


def _text(path: Path | None) -> str:
    if path is None:
        return ""
    if not path.is_file():
        raise Missing(f"There is no file {str(path)!r}.")
    return path.read_text("utf-8")


def _balance(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> BankBalance:
        async with database.snapshot() as connection:
            return await find_balance(connection)

    found = with_database(settings, act)
    shown = {
        "bank": found.bank,
        "ledger": found.ledger,
        "difference": found.difference,
        "before": found.before,
        "notPlaced": found.not_placed,
        "notOnStatements": found.not_on_statements,
        "cents": found.cents,
        "unexplained": found.unexplained,
    }
    lines = [
        ("By the statements", found.bank),
        ("By the ledger", found.ledger),
        ("Difference", found.difference),
        ("- before the first statement", found.before),
        ("- lines without a place", found.not_placed),
        ("- bookings that no statement has", found.not_on_statements),
        ("- cents that are no shilling yet", found.cents),
        ("- unexplained", found.unexplained),
    ]
    return print_result(arguments, shown, "\n".join(f"{name + ':':<36}{cents(value):>24}" for name, value in lines))

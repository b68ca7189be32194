"""malipo bank lines, exceptions, decide and match: what the bank's lines are."""

import argparse
from datetime import datetime
from typing import Any

from malipo.approvals.operator_limits import with_limits
from malipo.audit_log.actor import Actor
from malipo.bank import decide_exception
from malipo.bank.decide_exception import BOOKED_TO, BankAction, Decided, LineTerms
from malipo.bank.match_bank_lines import BankMatchingSummary, match_bank_lines
from malipo.bank.store import lines as store
from malipo.bank.store import payer_accounts
from malipo.bank.store.lines import BankException, ShownLine
from malipo.cli.authority import add_alone
from malipo.cli.bank.statements import found_as_json, found_in_words
from malipo.cli.bank.words import APPROVE_AT, cents
from malipo.cli.database import with_database, write
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.db import Database, Tx
from malipo.merchants import onboard
from malipo.settings import Settings

_MOST = 100


def add_commands(acts: Any) -> None:
    add_subcommand(acts, "lines", _lines, f"the latest {_MOST} lines of the bank, with what each is")
    add_subcommand(acts, "exceptions", _exceptions, "lines that nothing of ours fits")
    add_subcommand(acts, "match", _match, "match the bank's lines again, such as after a top-up was booked")
    decide = add_subcommand(acts, "decide", _decide, "decide what a line is; mostly another operator must approve it")
    decide.add_argument("exception", help="the exception's id, from malipo bank exceptions")
    decide.add_argument("action", choices=list(BankAction))
    decide.add_argument("--account", choices=list(BOOKED_TO), default="", help="book: the house account to book to")
    decide.add_argument(
        "--settlement", action="append", default=[], help="match or adopt: the settlement's id; adopt takes several"
    )
    decide.add_argument("--booking", default="", help="match: the booking's id")
    decide.add_argument("--merchant", default="", help="adopt: whose settlement it was, if none has the line's key")
    decide.add_argument("--key", default="", help="adopt: the EndToEndId, if the line does not have it")
    decide.add_argument("--reason", required=True, help="what you found out")
    add_alone(decide)


def _lines(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[ShownLine]:
        async with database.read() as connection:
            return await store.find_shown(connection, limit=_MOST)

    rows = [
        {
            "day": each.booked_on.isoformat(),
            "amount": cents(each.cents),
            "reference": each.reference,
            "key": each.key or None,
            "is": each.meaning,
            "of": each.subjects,
            "exception": each.exception,
            "details": each.details or None,
        }
        for each in with_database(settings, act)
    ]
    return print_table(arguments, rows, empty="No statement has a line yet.", right=("amount",))


def _exceptions(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[BankException]:
        async with database.read() as connection:
            return await store.find_open_exceptions(connection)

    rows = [
        {
            "id": each.id,
            "kind": each.kind,
            "day": each.line.booked_on.isoformat(),
            "amount": cents(each.line.cents),
            "reference": each.line.reference,
            "key": each.line.key or None,
            "details": each.line.details or None,
        }
        for each in with_database(settings, act)
    ]
    return print_table(arguments, rows, empty="Every line of the bank has its place.", right=("amount",))


def _match(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> BankMatchingSummary:
        await payer_accounts.lock(tx)
        return await match_bank_lines(tx, by=actor.name, now=now)

    found = write(arguments, settings, act)
    return print_result(arguments, found_as_json(found), found_in_words(found))


def _decide(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> Decided:
        limited = await with_limits(tx, settings)
        merchant_id = await onboard.find_merchant(tx, arguments.merchant) if arguments.merchant else ""
        return await decide_exception.begin(
            tx,
            arguments.exception,
            LineTerms(
                action=BankAction(arguments.action),
                account=arguments.account,
                settlement_ids=tuple(arguments.settlement),
                booking_id=arguments.booking,
                merchant_id=merchant_id,
                key=arguments.key,
            ),
            reason=arguments.reason,
            approval_amount=limited.booking_approval_amount,
            reference_prefix=settings.reference_prefix,
            actor=actor,
            now=now,
            is_single_operator=arguments.alone,
        )

    done = write(arguments, settings, act)
    shown = {"exception": arguments.exception, "action": arguments.action, "isDone": done.is_done}
    sentence = "Done." if done.is_done else f"Proposed. {APPROVE_AT.format(name=arguments.exception)}"
    return print_result(arguments, shown, sentence)

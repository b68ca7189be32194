"""malipo close …: a day is closed, listed, shown and verified."""

import argparse
from datetime import datetime
from pathlib import Path
from typing import Any

from malipo.audit_log.actor import Actor
from malipo.cli.approval_code import add_seen
from malipo.cli.authority import ApproveOnPages, add_here
from malipo.cli.close.differences import sentences_of
from malipo.cli.close.words import as_json, in_words, proposal_as_json, proposal_row, row
from malipo.cli.command_table import add_command
from malipo.cli.database import approve, with_database, write
from malipo.cli.hints import say_with_hint
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.db import Database, Tx
from malipo.encryption import Encryption
from malipo.errors import Missing, Refusal
from malipo.networks.connector import Channel
from malipo.reconciliation.close import close_day, files_to_verify
from malipo.reconciliation.close.business_day import parse_day
from malipo.reconciliation.close.close_csv import csv_of
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.printed_page import html_of
from malipo.reconciliation.close.store import closes, signing_keys
from malipo.reconciliation.close.store.closes import ProposedClose
from malipo.reconciliation.close.verify import VerificationResult, verify
from malipo.settings import Settings
from malipo.settings.environment import require
from malipo.words.say import say

_MOST_DAYS = 100


class NotClosed(Refusal):
    """The day does not add up; the details say where, in shillings."""


def add_commands(commands: Any) -> None:
    close = add_command(commands, "close")
    close.usual_act = "day"  # malipo close 2026-11-15
    acts = close.add_subparsers(title="acts", metavar="DAY|ACT", required=True)
    day = _of_day(acts, "day", _close, "close a day that is over: `malipo close DAY` is the same")
    day.add_argument(
        "--without",
        action="append",
        choices=list(Channel),
        default=[],
        help="close although this channel's statements do not cover the day",
    )
    day.add_argument(
        "--accept-difference",
        action="store_true",
        help="propose to close a day with a difference; another operator must approve it",
    )
    day.add_argument("--reason", default="", help="why; required with --without and --accept-difference")
    _add_files(day)
    approval = _of_day(acts, "approve", _approve, "close a day that does not add up, as another operator has proposed")
    add_here(approval)
    add_seen(approval)
    _of_day(acts, "reject", _reject, "reject that proposal, or take your own back")
    add_subcommand(acts, "list", _list, f"the latest {_MOST_DAYS} closed days, and what waits for another operator")
    _add_files(_of_day(acts, "show", _show, "a closed day"))
    key = add_subcommand(acts, "key", _key, "show the public keys that verify closed days")
    key.add_argument("--id", help="print only this key, as PEM: malipo close key --id csk_… > key.pem")
    verify_ = add_subcommand(
        acts, "verify", _verify, "whether closed days are as they were closed: chain and signatures"
    )
    verify_.add_argument(
        "--ledger", action="store_true", help="also verify the ledger moves of closed days; this reads all of them"
    )


def _of_day(acts: Any, name: str, command: Any, help_: str) -> Any:
    act = add_subcommand(acts, name, command, help_)
    act.add_argument("day", help="a day in Dar es Salaam time, such as 2026-11-15")
    return act


def _add_files(act: Any) -> None:
    act.add_argument("--csv", type=Path, metavar="FILE", help="write the close as CSV")
    act.add_argument("--report", type=Path, metavar="FILE.html", help="write the close as an HTML page to print")
    act.add_argument(
        "--signed",
        type=Path,
        metavar="FOLDER",
        help="write the signed text, the signature and the public key, to verify with other software",
    )


def _encryption(settings: Settings) -> Encryption:
    require(settings, "secret_key")
    return Encryption(*settings.secret_keys)


def _close(arguments: argparse.Namespace, settings: Settings) -> int:
    encryption, day = _encryption(settings), parse_day(arguments.day)

    async def act(tx: Tx, actor: Actor, now: datetime) -> ClosedDay | ProposedClose:
        return await close_day.close_day(
            tx,
            day,
            encryption=encryption,
            actor=actor,
            now=now,
            without=arguments.without,
            reason=arguments.reason,
            accepts_difference=arguments.accept_difference,
        )

    try:
        done = write(arguments, settings, act)
    except close_day.DayDoesNotAddUp as refusal:
        raise NotClosed(say_with_hint(refusal), details={"day": sentences_of(refusal.close)}) from None
    if isinstance(done, ProposedClose):
        sentence = f"Proposed. {day} does not add up: another operator must approve it, at /operator/close."
        return print_result(arguments, proposal_as_json(done), sentence)
    return _print_done(arguments, settings, done)


def _approve(arguments: argparse.Namespace, settings: Settings) -> int:
    if not arguments.here:
        raise ApproveOnPages("/operator/close")
    encryption, day = _encryption(settings), parse_day(arguments.day)

    async def act(tx: Tx, actor: Actor, now: datetime, seen: str) -> ClosedDay:
        return await close_day.approve(tx, day, encryption=encryption, actor=actor, now=now, seen=seen)

    closed = approve(arguments, settings, lambda tx: close_day.lock_open(tx, day), act)
    return _print_done(arguments, settings, closed)


def _reject(arguments: argparse.Namespace, settings: Settings) -> int:
    day = parse_day(arguments.day)

    async def act(tx: Tx, actor: Actor, now: datetime) -> ProposedClose:
        return await close_day.reject(tx, day, actor=actor, now=now)

    rejected = write(arguments, settings, act)
    return print_result(arguments, proposal_as_json(rejected), f"Rejected: {day} stays open.")


def _show(arguments: argparse.Namespace, settings: Settings) -> int:
    day = parse_day(arguments.day)

    async def act(database: Database) -> ClosedDay:
        async with database.read() as connection:
            closed = await closes.find(connection, day)
        if closed is None:
            raise Missing(f"{day} is not closed.")
        return closed

    return _print_done(arguments, settings, with_database(settings, act))


def _print_done(arguments: argparse.Namespace, settings: Settings, closed: ClosedDay) -> int:
    async def find(database: Database) -> bytes:
        async with database.read() as connection:
            return await files_to_verify.find_public_key(connection, closed.key_id)

    public_key = with_database(settings, find)
    if getattr(arguments, "csv", None):
        arguments.csv.write_text(csv_of(closed.close), newline="")
    if getattr(arguments, "report", None):
        arguments.report.write_text(html_of(closed, public_key, company=settings.company_name), encoding="utf-8")
    text = in_words(closed, public_key)
    if folder := getattr(arguments, "signed", None):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files_to_verify.files_of(closed, public_key).items():
            (folder / name).write_bytes(content)
        text += f"\nIn {folder}: {files_to_verify.command_of(closed)}"
    return print_result(arguments, as_json(closed, public_key), text)


def _key(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> dict[str, bytes]:
        async with database.read() as connection:
            return await signing_keys.find_public(connection)

    keys = {key_id: files_to_verify.pem_of(each) for key_id, each in with_database(settings, act).items()}
    if arguments.id is not None:
        if arguments.id not in keys:
            raise Missing(code=files_to_verify.KeyRefusal.NO_SUCH, name=arguments.id)
        return print_result(arguments, {arguments.id: keys[arguments.id]}, keys[arguments.id].rstrip())
    text = "\n".join(f"{key_id}\n{pem}".rstrip() for key_id, pem in keys.items())
    return print_result(arguments, keys, text or "No day is closed yet: the key is made with the first close.")


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.snapshot() as connection:
            proposed = await closes.find_proposals(connection)
            return [
                *(proposal_row(each) for each in proposed),
                *(row(each) for each in await closes.find_latest(connection, limit=_MOST_DAYS)),
            ]

    return print_table(
        arguments, with_database(settings, act), empty="No day is closed yet.", right=("open", "unexplained")
    )


def _verify(arguments: argparse.Namespace, settings: Settings) -> int:
    encryption = _encryption(settings)

    async def act(database: Database) -> VerificationResult:
        async with database.snapshot() as connection:
            return await verify(connection, encryption, with_ledger=arguments.ledger)

    found = with_database(settings, act)
    findings = [say(each) for each in found.findings]
    sentence = f"Closed days that are as they were closed: {found.days:,}. The last hash is {found.hash}."
    if not found.days and not findings:
        sentence = "No day is closed yet."
    shown = {"days": found.days, "hash": found.hash, "findings": findings}
    print_result(arguments, shown, "\n".join(findings) or sentence)
    return 1 if findings else 0

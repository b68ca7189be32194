"""malipo bank gather, files, file, download, void and refuse: payout files."""

import argparse
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from malipo import money
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.bank import gather_payout_file, void_payout_file
from malipo.bank.gather_payout_file import MOST_LINES, Download, GatheredFile
from malipo.bank.payout_file import FileLine, FileRefusal, PayoutFile
from malipo.bank.store import payout_files as store
from malipo.cli.bank.words import APPROVE_AT
from malipo.cli.database import with_database, write
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.db import Database, Tx
from malipo.errors import Conflict, Invalid
from malipo.settings import Settings
from malipo.settlement.settlement import Settlement
from malipo.words.bank import FILES

_OWNER_ONLY = 0o600
_MOST = 100
_LOOKS, _LOOK_SECONDS = 15, 1.0


def add_commands(acts: Any) -> None:
    gathering = add_subcommand(
        acts, "gather", _gather, "put settlements that wait into a payout file; another operator must approve it"
    )
    gathering.add_argument(
        "--account", default="", help="which of our accounts pays, by its number (default: the only one)"
    )
    gathering.add_argument("--most", type=int, default=MOST_LINES, help=f"at most so many, up to {MOST_LINES:,}")
    add_subcommand(acts, "files", _files, f"the latest {_MOST} payout files")
    _of_file(acts, "file", _show, "one of them, with its settlements")
    download = _of_file(acts, "download", _download, "write an approved file, to hand it in at the bank")
    download.add_argument(
        "--to", type=Path, metavar="FOLDER", default=Path(), help="into which folder (default: this one)"
    )
    voiding = _of_file(
        acts, "void", _void, "void an approved file that was certainly not paid; another operator must approve it"
    )
    why = voiding.add_mutually_exclusive_group(required=True)
    why.add_argument(
        "--refused", action="store_true", help="the bank has refused it: --reason has its words and the MsgId"
    )
    why.add_argument(
        "--not-on-statements",
        action="store_true",
        help="complete statements of its day and three later banking days do not have it",
    )
    why.add_argument("--not-downloaded", action="store_true", help="nobody has ever asked to download it")
    refusal = _of_file(
        acts, "refuse", _refuse, "note which transfers the bank has refused; another operator must approve it"
    )
    refusal.add_argument("transfers", nargs="+", help="by reference or EndToEndId, as the bank's answer lists them")
    for each in (voiding, refusal):
        each.add_argument("--reason", required=True, help="what the bank has said, or what you have looked at")


def _of_file(acts: Any, name: str, command: Any, help_: str) -> Any:
    act = add_subcommand(acts, name, command, help_)
    act.add_argument("file", help="the file's id, or its MsgId")
    return act


def _gather(arguments: argparse.Namespace, settings: Settings) -> int:
    if arguments.most < 1:
        raise Invalid("--most must be at least 1.")

    async def act(tx: Tx, actor: Actor, now: datetime) -> GatheredFile:
        return await gather_payout_file.gather(tx, arguments.account, limit=arguments.most, actor=actor, now=now)

    found = write(arguments, settings, act)
    file = found.file
    shown = {
        **_row(file),
        "proposal": found.proposal.id,
        "leftOut": [{"settlement": id_, "why": why} for id_, why in sorted(found.left_out.items())],
    }
    left_out = f" Left out: {len(found.left_out)}." if found.left_out else ""
    sentence = f"Gathered {file.line_count} settlements of {money.display(file.total)} into {file.id}.{left_out}"
    return print_result(arguments, shown, f"{sentence} {APPROVE_AT.format(name=file.id)}")


def _row(file: PayoutFile) -> dict[str, Any]:
    return {
        "id": file.id,
        "status": file.status,
        "message": file.message_id,
        "transfers": file.line_count,
        "amount": file.total,
        "gathered by": file.gathered_by,
        "approved by": file.approved_by,
        "pays on": None if file.pays_on is None else file.pays_on.isoformat(),
        "downloaded": None if file.downloaded_at is None else file.downloaded_at.isoformat(),
    }


def _files(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[PayoutFile]:
        async with database.read() as connection:
            return await store.find(connection, limit=_MOST)

    rows = [_row(each) for each in with_database(settings, act)]
    return print_table(arguments, rows, empty="No file was gathered yet.", right=("transfers", "amount"))


def _show(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> tuple[PayoutFile, list[FileLine], str | None, list[Settlement]]:
        async with database.snapshot() as connection:
            file = await gather_payout_file.get_file(connection, arguments.file)
            ended = await gather_payout_file.find_ended_unseen(connection, file)
            stopped = await gather_payout_file.find_stopped(connection, file)
            return file, await store.find_lines(connection, file.id, all_=True), ended, stopped

    file, lines, ended, stopped = with_database(settings, act)
    rows = [
        {
            "settlement": each.settlement_id,
            "reference": each.reference,
            "merchant": each.merchant_id,
            "key": each.key,
            "amount": each.amount,
            "bank": each.bic,
            "account": each.account,
            "name": each.name,
            "not paid because": each.why_refused or each.why_left,
        }
        for each in lines
    ]
    if arguments.json:
        shown = {
            **_row(file),
            "voided": file.why_voided,
            "handedIn": ended is not None,
            "toStoppedAccounts": [each.id for each in stopped],
            "lines": rows,
        }
        return print_result(arguments, shown, "")
    for name, value in _row(file).items():
        print(f"{name + ':':<20} {'-' if value is None else value}")
    for each in stopped:
        print(FILES[FileRefusal.ACCOUNT_STOPPED].format(file=file.id, name=each.reference))
    if ended is not None:
        print(FILES[FileRefusal.HANDED_IN].format(file=file.id, name=ended))
    return print_table(arguments, rows, empty="Nothing is in it.", right=("amount",))


def _download(arguments: argparse.Namespace, settings: Settings) -> int:
    folder: Path = arguments.to
    if not folder.is_dir():
        raise Invalid(f"There is no folder {str(folder)!r}.")

    async def act(tx: Tx, actor: Actor, now: datetime) -> Download | None:
        return await gather_payout_file.download(tx, arguments.file, actor=actor, now=now)

    found = _once_marked(lambda: write(arguments, settings, act))
    path = folder / found.name
    path.touch(_OWNER_ONLY)
    path.write_bytes(found.content)
    shown = {"file": str(path), "bytes": len(found.content), "sha256": found.sha256.hex()}
    sentence = f"Wrote {path}, {len(found.content):,} bytes, SHA-256 {found.sha256.hex()}. Hand it in once."
    return print_result(arguments, shown, sentence)


def _once_marked(download: Callable[[], Download | None]) -> Download:
    """A worker notes in its mark that somebody has asked for the file, about three seconds later."""
    for _ in range(_LOOKS):
        if (found := download()) is not None:
            return found
        time.sleep(_LOOK_SECONDS)
    raise Conflict(code=FileRefusal.NOT_MARKED)


def _void(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> Proposal:
        return await void_payout_file.propose(
            tx,
            arguments.file,
            is_refused=arguments.refused,
            is_unseen=arguments.not_downloaded,
            reason=arguments.reason,
            actor=actor,
            now=now,
        )

    return _print_proposed(arguments, write(arguments, settings, act), "to void the file")


def _refuse(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> Proposal:
        return await void_payout_file.propose_refusal(
            tx, arguments.file, arguments.transfers, reason=arguments.reason, actor=actor, now=now
        )

    return _print_proposed(arguments, write(arguments, settings, act), "that the bank has refused these")


def _print_proposed(arguments: argparse.Namespace, proposal: Proposal, what: str) -> int:
    shown = {"id": proposal.id, "file": proposal.subject, "amount": proposal.amount, "isProposed": True}
    sentence = f"Proposed {what}, {money.display(proposal.amount)}. {APPROVE_AT.format(name=proposal.subject)}"
    return print_result(arguments, shown, sentence)

"""malipo log …: the receipt log: its state, its keys, its check; begin another one, change the key, erase a receipt."""

import argparse
import base64
import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.cli.command_table import add_command
from malipo.cli.database import with_database, write
from malipo.cli.output import add_subcommand, print_result
from malipo.db import Database, Tx
from malipo.errors import Invalid, Missing, Problem
from malipo.receipts import check, manage_log, public_files, tree_store
from malipo.receipts.check import CheckResult
from malipo.receipts.manage_log import LogRefusal
from malipo.receipts.signing_decision import SigningRefusal
from malipo.receipts.store import check_reads, logs
from malipo.receipts.store.logs import Log, Published, Signer
from malipo.settings import Settings
from malipo.words.say import say


def add_commands(commands: Any) -> None:
    log = add_command(commands, "log")
    acts = log.add_subparsers(title="acts", metavar="ACT", required=True)
    add_subcommand(acts, "status", _status, "show the receipt log, its last checkpoint, and who signs it")
    add_subcommand(acts, "keys", _keys, "print the public keys that verify receipts, and how each handed over")
    add_subcommand(
        acts,
        "check",
        _check,
        "check the log against payments, closed days and its tree; exit code 1 if anything differs",
    )
    path = add_subcommand(acts, "consistency", _consistency, "prove that the last checkpoint extends an earlier one")
    path.add_argument("size", type=int, help="how many leaves the earlier one covers")
    for name, command, help_ in (
        ("begin", _begin, "begin another log, which continues the last checkpoint: the state folder was lost"),
        ("change-key", _change_key, "let another key sign, from the next checkpoint on"),
    ):
        act = add_subcommand(acts, name, command, help_)
        act.add_argument("--reason", required=True, help="why; the audit log keeps it")
    act = add_subcommand(acts, "erase", _erase, "delete what makes a receipt's entries in the log readable")
    act.add_argument("reference", help="the payment's reference")
    act.add_argument("--reason", required=True, help="why; the audit log keeps it")


@dataclass(frozen=True, slots=True)
class _Found:
    log: Log | None
    published: Published | None
    behind: int
    signers: list[Signer]


def _status(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> _Found:
        async with database.snapshot() as connection:
            latest = await logs.find_latest(connection)
            return _Found(
                latest,
                None if latest is None else await logs.find_published(connection, log=latest.number),
                await check_reads.count_behind(connection),
                await logs.find_signers(connection),
            )

    found = with_database(settings, act)
    shown = {
        "setting": settings.receipt_log,
        "origin": None if found.log is None else found.log.origin,
        "leaves": None if found.log is None else found.log.size,
        "checkpointLeaves": None if found.published is None else found.published.size,
        "checkpointAt": None if found.published is None else clock.iso(found.published.signed_at),
        "behind": found.behind,
        "signers": [
            {"host": each.host, "worker": each.worker_id, "refused": each.refused, "since": clock.iso(each.looked_at)}
            for each in found.signers
        ],
    }
    return print_result(arguments, shown, _sentence(found, settings.receipt_log))


def _sentence(found: _Found, setting: str) -> str:
    if found.log is None:
        return f"There is no receipt log (MALIPO_RECEIPT_LOG is {setting})."
    lines = [f"{found.log.origin}: {found.log.size:,} leaves (MALIPO_RECEIPT_LOG is {setting})."]
    if found.published is None:
        lines.append("No checkpoint of it was signed yet.")
    else:
        at = clock.iso(found.published.signed_at)
        lines.append(f"The last checkpoint covers {found.published.size:,} of them, signed at {at}.")
    if found.behind:
        lines.append(f"{found.behind:,} events are not looked at yet.")
    for each in found.signers:
        why = "may sign" if each.refused is None else say(Problem(SigningRefusal(each.refused)))
        lines.append(f"{each.host} ({each.worker_id}), since {clock.iso(each.looked_at)}: {why}")
    return "\n".join(lines)


def _keys(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> dict[str, Any]:
        async with database.read() as connection:
            return await public_files.find_keys(connection)

    found = with_database(settings, act)
    return print_result(arguments, found, "\n".join(found["keys"]) or "No key has signed yet.")


def _check(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> CheckResult:
        async with database.snapshot() as connection:
            return await check.check(connection)

    found = with_database(settings, act)
    sentences = [say(each) for each in found.findings]
    summary = {name: getattr(found, name) for name in found.__struct_fields__ if name != "findings"}
    if arguments.json:
        print_result(arguments, {"isClean": not sentences, **summary, "findings": sentences}, "")
    elif not sentences:
        print(
            f"The receipt log is clean: {found.facts:,} facts ({found.erased:,} erased), {found.checkpoints:,} "
            f"checkpoints of {found.logs} logs, {found.days} closed days."
        )
        if found.behind:
            print(f"{found.behind:,} events are not in the log yet. Closed days before them were compared.")
    else:
        print(f"The receipt log is NOT clean: {len(sentences)} findings.", file=sys.stderr)
        for each in sentences:
            print(f"  {each}", file=sys.stderr)
    return 1 if sentences else 0


def _consistency(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[bytes]:
        async with database.snapshot() as connection:
            published = await logs.find_published(connection)
            found = None if published is None else await logs.find(connection, published.log)
            if found is None or published is None:
                raise Missing(code=LogRefusal.NO_LOG)
            if not 0 < arguments.size <= published.size:
                raise Invalid(code=LogRefusal.NO_SUCH_SIZE, size=published.size)
            return await tree_store.find_consistency_path(connection, found, arguments.size, published.size)

    path = [base64.b64encode(each).decode() for each in with_database(settings, act)]
    return print_result(arguments, path, "\n".join(path))


def _begin(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> Log:
        return await manage_log.begin_log(
            tx, arguments.reason, log_name=settings.receipt_log_name, actor=actor, now=now
        )

    begun = write(arguments, settings, act)
    sentence = (
        f"{begun.origin} begins. When a worker has signed its first checkpoint, give out its key: malipo log keys"
    )
    return print_result(arguments, {"origin": begun.origin}, sentence)


def _change_key(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> Log:
        return await manage_log.change_key(tx, arguments.reason, actor=actor, now=now)

    changed = write(arguments, settings, act)
    sentence = "A worker makes another key in a moment. Give it out: malipo log keys"
    return print_result(arguments, {"origin": changed.origin}, sentence)


def _erase(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> int:
        return await manage_log.erase(tx, arguments.reference, arguments.reason, actor=actor, now=now)

    erased = write(arguments, settings, act)
    return print_result(
        arguments, {"facts": erased}, f"{erased} facts were erased. Copies that were given out stay as they are."
    )

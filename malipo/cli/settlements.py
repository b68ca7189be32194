"""malipo settlements …: bank accounts of merchants, and their settlements."""

import argparse
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from malipo import money
from malipo.approvals.act_rules import Act
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.cli.approval_code import add_seen
from malipo.cli.authority import ApproveOnPages, add_here
from malipo.cli.command_table import add_command
from malipo.cli.database import approve, with_database, write
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.db import Database, Tx
from malipo.settings import Settings
from malipo.settlement import manage_bank_accounts, operator_acts
from malipo.settlement.operator_acts import DecidedAct, SettlementActs
from malipo.settlement.settlement import SettlementStatus
from malipo.settlement.store import bank_accounts, settlements

_PAGE = "/operator/settlements"
_MOST_SHOWN = 100


def add_commands(commands: Any) -> None:
    acts = add_command(commands, "settlements").add_subparsers(title="acts", metavar="ACT", required=True)
    list_ = add_subcommand(acts, "list", _list, f"list settlements, the newest {_MOST_SHOWN}")
    list_.add_argument("--status", type=str.upper, choices=list(SettlementStatus), help="only with this status")
    add_subcommand(acts, "owing", _owing, "list adopted settlements that their wallets could not bear")
    add_subcommand(acts, "accounts", _accounts, "list bank accounts that wait for verification")
    verify = add_subcommand(acts, "verify", _verify, "propose that a bank account is its merchant's own")
    verify.add_argument("account", help="the id: bka_…")
    _add_evidence(verify)
    refuse = add_subcommand(acts, "reject-account", _reject_account, "reject a bank account that nobody has verified")
    stop = add_subcommand(acts, "stop-account", _stop_account, "stop a bank account: nothing more is sent there")
    for each in (refuse, stop):
        each.add_argument("account", help="the id: bka_…")
        each.add_argument("--reason", required=True, help="why: the merchant's people and the audit log see it")
    cancel = add_subcommand(acts, "cancel", _cancel, "cancel a settlement that is in no file to the bank")
    cancel.add_argument("settlement", help="the id: stl_…")
    collect = add_subcommand(acts, "collect", _collect, "propose to take what a wallet owes of an adopted settlement")
    collect.add_argument("settlement", help="the id: stl_…")
    collect.add_argument("--waive", action="store_true", help="write it off instead")
    _add_evidence(collect)
    release = add_subcommand(acts, "release", _release, "after a restore: propose that settlements are sent again")
    _add_evidence(release)
    approve_ = add_subcommand(acts, "approve", _approve, "approve what another operator has proposed, and do it")
    approve_.add_argument("subject", help="the bank account, the settlement, or the epoch that is released")
    add_here(approve_)
    add_seen(approve_)
    reject = add_subcommand(acts, "reject", _reject, "reject what another operator has proposed, or withdraw one's own")
    reject.add_argument("subject", help="as for approve")


def _add_evidence(act: Any) -> None:
    act.add_argument("--evidence", required=True, help="what shows it, for the second operator and the audit log")


def _acts(settings: Settings) -> SettlementActs:
    return SettlementActs(timedelta(hours=settings.bank_account_wait_hours))


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.read() as connection:
            found = await settlements.find_latest(connection, status=arguments.status, limit=_MOST_SHOWN)
        return [
            {
                "id": each.id,
                "merchant": each.merchant_id,
                "reference": each.reference,
                "status": each.status.value,
                "amount": each.amount,
                "fee": each.fee,
                "file": each.payout_file_id,
                "bank reference": each.bank_reference,
                "requested at": each.created_at,
            }
            for each in found
        ]

    return print_table(
        arguments, with_database(settings, act), empty="There is no settlement.", right=("amount", "fee")
    )


def _owing(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.read() as connection:
            return [
                {"id": each.id, "merchant": each.merchant_id, "amount": each.amount, "owed": each.owed}
                for each in await settlements.find_owing(connection)
            ]

    return print_table(
        arguments, with_database(settings, act), empty="Nothing is owed of a settlement.", right=("amount", "owed")
    )


def _accounts(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.read() as connection:
            return [
                {
                    "id": each.id,
                    "merchant": each.merchant_id,
                    "bank": each.bic,
                    "number": each.account_number,
                    "holder": each.holder_name,
                    "added by": each.created_by,
                    "added at": each.created_at,
                }
                for each in await bank_accounts.find_unverified(connection)
            ]

    return print_table(arguments, with_database(settings, act), empty="No bank account waits for verification.")


def _verify(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> DecidedAct:
        return await _acts(settings).verify(
            tx,
            arguments.account,
            arguments.evidence.strip(),
            actor=actor,
            now=now,
        )

    return _print_done(arguments, write(arguments, settings, act))


def _collect(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> DecidedAct:
        return await _acts(settings).collect(
            tx,
            arguments.settlement,
            arguments.evidence.strip(),
            is_waived=arguments.waive,
            actor=actor,
            now=now,
        )

    return _print_done(arguments, write(arguments, settings, act))


def _release(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> DecidedAct:
        return await _acts(settings).release(tx, arguments.evidence.strip(), actor=actor, now=now)

    return _print_done(arguments, write(arguments, settings, act))


def _approve(arguments: argparse.Namespace, settings: Settings) -> int:
    if not arguments.here:
        raise ApproveOnPages(_PAGE)

    async def find(tx: Tx) -> Proposal:
        return await operator_acts.lock_open(tx, arguments.subject)

    async def act(tx: Tx, actor: Actor, now: datetime, seen: str) -> DecidedAct:
        return await _acts(settings).approve(tx, arguments.subject, actor=actor, now=now, seen=seen)

    return _print_done(arguments, approve(arguments, settings, find, act))


def _reject(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> DecidedAct:
        return await _acts(settings).reject(tx, arguments.subject, actor=actor, now=now)

    rejected = write(arguments, settings, act)
    return print_result(arguments, {"id": rejected.proposal_id, "isDone": False}, "Rejected: nothing was done.")


def _reject_account(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> None:
        await operator_acts.reject_account(tx, arguments.account, arguments.reason.strip(), actor=actor, now=now)

    write(arguments, settings, act)
    return print_result(arguments, {"id": arguments.account, "status": "REJECTED"}, f"{arguments.account} is rejected.")


def _stop_account(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> None:
        await manage_bank_accounts.stop(tx, arguments.account, reason=arguments.reason.strip(), actor=actor, now=now)

    write(arguments, settings, act)
    sentence = (
        f"{arguments.account} is stopped: nothing more is sent there. If an approved file has it, operators are told."
    )
    return print_result(arguments, {"id": arguments.account, "status": "STOPPED"}, sentence)


def _cancel(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> int:
        return (await operator_acts.cancel(tx, arguments.settlement, actor=actor, now=now)).amount

    amount = write(arguments, settings, act)
    shown = {"id": arguments.settlement, "status": "CANCELLED", "amount": amount}
    return print_result(arguments, shown, f"Cancelled: {money.display(amount)} are in the wallet again.")


_PROPOSED = "Proposed. Another operator must look at the evidence, and approve it: malipo settlements approve {subject}"
_DONE: dict[Act, Callable[[DecidedAct], str]] = {
    Act.VERIFY_BANK_ACCOUNT: lambda done: f"{done.subject} is verified. It can be used after its wait.",
    Act.COLLECT_SETTLEMENT: lambda done: f"{money.display(done.amount)} of {done.subject} are no longer owed.",
    Act.RELEASE_SETTLEMENTS: lambda _: "Released: schedules run, and files can be approved.",
}


def _print_done(arguments: argparse.Namespace, done: DecidedAct) -> int:
    shown = {"id": done.proposal_id, "subject": done.subject, "isDone": done.is_done, "amount": done.amount}
    sentence = _DONE[done.act](done) if done.is_done else _PROPOSED.format(subject=done.subject)
    return print_result(arguments, shown, sentence)

"""malipo bank …: pay settlements by files, and import the bank's statements, which decide."""

import argparse
from datetime import datetime
from typing import Any

from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.bank import approve as bank_approve
from malipo.bank import proposals
from malipo.cli.approval_code import add_approval
from malipo.cli.authority import require_here
from malipo.cli.bank import accounts, lines, payout_files, statements
from malipo.cli.command_table import add_command
from malipo.cli.database import approve, write
from malipo.cli.output import add_subcommand, print_result
from malipo.db import Tx
from malipo.settings import Settings


def add_commands(commands: Any) -> None:
    bank = add_command(commands, "bank")
    acts = bank.add_subparsers(title="acts", metavar="ACT", required=True)
    accounts.add_commands(acts)
    payout_files.add_commands(acts)
    statements.add_commands(acts)
    lines.add_commands(acts)
    approval = add_subcommand(
        acts, "approve", _approve, "approve what another operator has proposed: a file, a statement, a decision"
    )
    rejection = add_subcommand(acts, "reject", _reject, "reject it, or take your own back")
    for each in (approval, rejection):
        each.add_argument("name", help="the id of the file, statement, exception or proposal; or an account's number")
    add_approval(approval)


def _approve(arguments: argparse.Namespace, settings: Settings) -> int:
    require_here(arguments, "/operator")

    async def find(tx: Tx) -> Proposal:
        return await proposals.lock_open(tx, arguments.name)

    async def act(tx: Tx, actor: Actor, now: datetime, seen: str) -> Proposal:
        return await bank_approve.approve(
            tx,
            arguments.name,
            reference_prefix=settings.reference_prefix,
            actor=actor,
            now=now,
            seen=seen,
            is_single_operator=arguments.alone,
        )

    return _print_done(arguments, approve(arguments, settings, find, act), is_approved=True)


def _reject(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> Proposal:
        return await bank_approve.reject(tx, arguments.name, actor=actor, now=now)

    return _print_done(arguments, write(arguments, settings, act), is_approved=False)


def _print_done(arguments: argparse.Namespace, proposal: Proposal, *, is_approved: bool) -> int:
    shown = {"id": proposal.id, "act": proposal.action, "about": proposal.subject, "amount": proposal.amount}
    what = f"{proposal.action.replace('_', ' ')}, {proposal.subject}"
    sentence = f"{'Approved' if is_approved else 'Rejected'}: {what}."
    return print_result(arguments, {**shown, "approved": is_approved}, sentence)

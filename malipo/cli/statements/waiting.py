"""malipo statements waiting, approve-import and reject-import: payments that a file alone would end or contradict, and
that wait for a second operator."""

import argparse
from datetime import datetime
from typing import Any

from malipo import money
from malipo.approvals.operator_limits import with_limits
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.cli.approval_code import add_approval
from malipo.cli.authority import require_here
from malipo.cli.database import approve, with_database, write
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.cli.statements.matching_result import match_now
from malipo.db import Database, Tx
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.dispatch import QueryRules
from malipo.reconciliation.matching import import_approval
from malipo.reconciliation.matching.import_approval import WaitingList
from malipo.reconciliation.matching.report_evidence import approve_import
from malipo.settings import Settings


def add_commands(acts: Any) -> None:
    waiting = add_subcommand(
        acts, "waiting", _waiting, "payments that a file alone would end or contradict, and that wait for an operator"
    )
    waiting.add_argument("file", nargs="?", help="the import's id (default: all)")
    approval = add_subcommand(acts, "approve-import", _approve, "approve what another operator's file changes")
    rejection = add_subcommand(acts, "reject-import", _reject, "reject it; each of its lines then becomes an exception")
    for each in (approval, rejection):
        each.add_argument("file", help="the import's id, from malipo statements waiting")
    add_approval(approval)


def _waiting(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[WaitingList]:
        async with database.snapshot() as connection:
            return await import_approval.find_open(connection, arguments.file)

    found = with_database(settings, act)
    rows = [
        {
            "file": waiting.proposal.subject,
            "by": waiting.proposal.requested_by,
            "payment": each.reference,
            "type": each.type,
            "status": each.status,
            "receipt": each.receipt,
            "read by": ", ".join(each.authors) or None,
            "named by": ", ".join(each.named_by) or None,
            "because of": each.word or None,
            "in": each.payment_amount if each.amount > 0 else None,
            "out": each.payment_amount if each.amount < 0 else None,
            "amount": each.payment_amount,
        }
        for waiting in found
        for each in waiting.lines
    ]
    rows += [
        {
            "file": waiting.proposal.subject,
            "by": waiting.proposal.requested_by,
            "payment": None,
            "type": each.kind,
            "status": str(each.day),
            "receipt": None,
            "read by": ", ".join(each.authors) or None,
            "named by": None,
            "because of": None,
            "in": each.money_in or None,
            "out": each.money_out or None,
            "amount": each.unconfirmed,
        }
        for waiting in found
        for each in waiting.sums
    ]
    print_table(arguments, rows, empty="Nothing waits for a second operator.", right=("in", "out", "amount"))
    if rows and not arguments.json:
        print(f"\nTotal: {money.display(sum(waiting.amount for waiting in found))}")
    return 0


def _approve(arguments: argparse.Namespace, settings: Settings) -> int:
    require_here(arguments, f"/operator/statements/{arguments.file}")

    async def find(tx: Tx) -> Proposal:
        return await import_approval.lock_open(tx, arguments.file)

    async def act(tx: Tx, actor: Actor, now: datetime, seen: str) -> tuple[int, Actor]:
        limited = await with_limits(tx, settings)
        apply_answers = ApplyNetworkAnswers(
            clock=lambda: now, rules=QueryRules.of(limited), credits_automatically=limited.credit_by_itself
        )
        alone = arguments.alone
        proposal = await approve_import(
            tx, apply_answers, arguments.file, actor=actor, now=now, seen=seen, is_single_operator=alone
        )
        return proposal.amount, actor

    amount, actor = approve(arguments, settings, find, act)
    match_now(settings, actor)  # Exceptions whose cause has gone are resolved.
    sentence = f"Approved: the file has ended or contradicted payments, or booked fees, of {money.display(amount)}."
    return print_result(arguments, {"id": arguments.file, "approved": True, "amount": amount}, sentence)


def _reject(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> WaitingList:
        return await import_approval.reject(tx, arguments.file, actor=actor, now=now)

    waiting = write(arguments, settings, act)
    sentence = "Rejected: no payment has changed. Each line is an exception: malipo exceptions list"
    return print_result(arguments, {"id": arguments.file, "approved": False, "amount": waiting.amount}, sentence)

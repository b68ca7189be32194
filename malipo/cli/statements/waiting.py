"""malipo statements waiting, approve-import and reject-import: payments that a file alone would end or contradict, and
that wait for a second operator."""

import argparse
from datetime import datetime
from typing import Any

from malipo import clock, money
from malipo.audit_log.actor import Actor
from malipo.cli.authority import ApproveOnPages, add_alone, add_here
from malipo.cli.database import with_database, write
from malipo.cli.output import add_subcommand, tell, tell_table
from malipo.cli.statements.matched import match_now
from malipo.db import Database, Tx
from malipo.payments.dispatch import Rules
from malipo.payments.settle import Settle
from malipo.reconciliation import import_approval
from malipo.reconciliation.import_approval import WaitingList
from malipo.reconciliation.report_evidence import approve_import
from malipo.settings import Settings


def add_commands(acts: Any) -> None:
    waiting = add_subcommand(
        acts, "waiting", _waiting, "payments that a file alone would end or contradict, and that wait for an operator"
    )
    waiting.add_argument("file", nargs="?", help="the id of one import; default: all")
    approve = add_subcommand(acts, "approve-import", _approve, "agree with what another operator's file does to them")
    reject = add_subcommand(acts, "reject-import", _reject, "disagree; each of its lines is then an exception")
    for each in (approve, reject):
        each.add_argument("file", help="the id of the import, as malipo statements waiting shows it")
    add_here(approve)
    add_alone(approve)


def _waiting(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[WaitingList]:
        async with database.snapshot() as connection:
            return await import_approval.find_open(connection, arguments.file)

    found = with_database(settings, act)
    rows = [
        {
            "file": held.proposal.subject,
            "by": held.proposal.requested_by,
            "payment": each.reference,
            "type": each.type,
            "status": each.status,
            "receipt": each.receipt,
            "amount": each.payment_amount,
        }
        for held in found
        for each in held.lines
    ]
    tell_table(arguments, rows, empty="Nothing waits for a second operator.", right=("amount",))
    if rows and not arguments.json:
        print(f"\nTogether: {money.display(sum(held.amount for held in found))}")
    return 0


def _approve(arguments: argparse.Namespace, settings: Settings) -> int:
    if not arguments.here and not arguments.alone:
        raise ApproveOnPages(f"/operator/statements/{arguments.file}")

    async def act(tx: Tx, actor: Actor, now: datetime) -> tuple[int, Actor]:
        settle = Settle(clock=clock.now, rules=Rules.of(settings), credits_automatically=settings.credit_by_itself)
        proposal = await approve_import(
            tx, settle, arguments.file, actor=actor, now=now, is_single_operator=arguments.alone
        )
        return proposal.amount, actor

    amount, actor = write(arguments, settings, act)
    match_now(settings, actor)  # Exceptions whose cause has gone are resolved.
    sentence = f"Approved: the file has ended or contradicted payments of {money.display(amount)}."
    return tell(arguments, {"id": arguments.file, "approved": True, "amount": amount}, sentence)


def _reject(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> WaitingList:
        return await import_approval.reject(tx, arguments.file, actor=actor, now=now)

    held = write(arguments, settings, act)
    sentence = "Rejected: no payment has changed. Each line is an exception: malipo exceptions list"
    return tell(arguments, {"id": arguments.file, "approved": False, "amount": held.amount}, sentence)

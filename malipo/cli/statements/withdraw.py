"""malipo statements show, withdraw, undo, approve, reject: an import, what it booked, and how both are taken back."""

import argparse
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from malipo.approvals import decide as approvals
from malipo.approvals.act_rules import STATEMENT_UNDOS
from malipo.approvals.operator_limits import with_limits
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.cli.approval_code import add_approval
from malipo.cli.authority import add_alone, require_here
from malipo.cli.database import approve, with_database, write
from malipo.cli.exceptions import effects
from malipo.cli.output import add_subcommand, cell, print_result, print_table
from malipo.cli.statements.matching_result import match_now
from malipo.db import Conn, Database, Tx
from malipo.db.database_time import database_now
from malipo.reconciliation.exceptions.find_effect import ImportEffect
from malipo.reconciliation.imports.find_import_effect import find_import_effect
from malipo.reconciliation.imports.store import withdrawal_proposals as statement_proposals
from malipo.reconciliation.imports.store import withdrawals
from malipo.reconciliation.imports.store.withdrawal_proposals import ProposedAction, StatementProposal
from malipo.reconciliation.imports.withdraw_statement import NoSuchStatement, WithdrawStatements
from malipo.reconciliation.statements.statement_file import StatementFile
from malipo.reconciliation.statements.store import statements
from malipo.settings import Settings
from malipo.words import effects as effect_words

Decide = Callable[[WithdrawStatements, Tx, Actor, datetime], Awaitable[StatementProposal]]


def add_commands(acts: Any) -> None:
    show = add_subcommand(
        acts,
        "show",
        _show,
        "an import: what it booked, what was proposed about it, and what taking it back would change",
    )
    show.add_argument("file", help="the import's id, from malipo statements list")
    withdraw = add_subcommand(
        acts, "withdraw", _withdraw, "propose to withdraw an import; another operator approves it"
    )
    withdraw.add_argument("file", help="the import's id, from malipo statements list")
    withdraw.add_argument("--reason", required=True, help="what is wrong")
    undo = add_subcommand(acts, "undo", _undo, "undo the booking of an import's fees or sweeps of a day")
    undo.add_argument("booking", help="the booking's id, from malipo statements show")
    undo.add_argument("--reason", required=True, help="what is wrong")
    add_alone(undo)
    approval = add_subcommand(acts, "approve", _approve, "approve what another operator has proposed")
    approval.add_argument("id", help="the id of the import or of the booking")
    add_approval(approval)
    reject = add_subcommand(acts, "reject", _reject, "reject a proposal, or take your own back")
    reject.add_argument("id", help="the id of the import or of the booking")


def _show(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> dict[str, Any]:
        async with database.snapshot() as connection:
            file = await statements.get(connection, arguments.file)
            if file is None:
                raise NoSuchStatement(arguments.file)
            effect = await find_import_effect(
                connection,
                file,
                approval_amount=(await with_limits(connection, settings)).booking_approval_amount,
                now=await database_now(connection),
            )
            return await _found(connection, file) | {"changes": _changes(effect)}

    found = with_database(settings, act)
    if arguments.json:
        return print_result(arguments, found, "")
    changes = found.pop("changes")
    for name, value in found.items():
        if not isinstance(value, list):
            print(f"{name + ':':<20} {cell(value)}")
        elif value:
            print(f"\n{name}:")
            print_table(arguments, value, empty="", right=("amount",))
    if changes is not None:
        print(f"\nWithdrawing it would change:\n{effects.in_words(changes['withdrawal'])}")
        for note in changes["notes"]:
            print(note)
        for booking, rows in changes["undos"].items():
            print(f"\nUndoing {booking} would change:\n{effects.in_words(rows)}")
    return 0


async def _found(connection: Conn, file: StatementFile) -> dict[str, Any]:
    """The import, with its bookings, the payments that it ended or corrected, and the proposals about it."""
    is_withdrawn = file.withdrawn_at is not None
    find_payments = withdrawals.find_remaining if is_withdrawn else withdrawals.find_ended
    return {
        "id": file.id,
        "file": file.name,
        "channel": file.channel,
        "account": file.account or None,
        "from": file.begins_at,
        "to": file.ends_at,
        "lines": file.line_count,
        "withdrawn": file.withdrawn_at,
        "bookings": [
            {"booking": each.id, "kind": each.kind, "day": each.day, "amount": each.amount, "undone": each.is_undone}
            for each in await withdrawals.find_bookings(connection, file.id)
        ],
        "payments that it ended or corrected": [
            {"payment": each.reference, "receipt": each.receipt, "status": each.status, "amount": each.amount}
            for each in await find_payments(connection, file.id)
        ],
        "proposals": [
            {
                "action": each.action,
                "of": each.subject,
                "by": each.requested_by,
                "reason": each.reason,
                "decided by": each.decided_by,
                "approved": each.is_approved,
            }
            for each in await statement_proposals.find(connection, file.id)
        ],
    }


def _changes(effect: ImportEffect | None) -> dict[str, Any] | None:
    """The changes that a withdrawal, and undoing each booking, would make; None if the import is withdrawn already."""
    if effect is None:
        return None
    return {
        "withdrawal": effects.rows_of(effect.withdrawal, {}),
        "notes": [effect_words.IMPORT_NOTES[note].format(count=f"{count:,}") for note, count in effect.notes],
        "undos": {booking: effects.rows_of(changes, {}) for booking, changes in effect.undos.items()},
    }


def _withdraw(arguments: argparse.Namespace, settings: Settings) -> int:
    return _decide(
        arguments,
        settings,
        lambda withdraw, tx, actor, now: withdraw.propose_withdrawal(
            tx, arguments.file, reason=arguments.reason.strip(), actor=actor, now=now
        ),
    )


def _undo(arguments: argparse.Namespace, settings: Settings) -> int:
    return _decide(
        arguments,
        settings,
        lambda withdraw, tx, actor, now: withdraw.propose_undo(
            tx,
            arguments.booking,
            reason=arguments.reason.strip(),
            actor=actor,
            now=now,
            is_single_operator=arguments.alone,
        ),
    )


def _approve(arguments: argparse.Namespace, settings: Settings) -> int:
    require_here(arguments, "/operator/statements")

    async def find(tx: Tx) -> Proposal:
        return await approvals.lock_open(tx, STATEMENT_UNDOS, arguments.id)

    async def act(tx: Tx, actor: Actor, now: datetime, seen: str) -> tuple[StatementProposal, Actor]:
        limit = (await with_limits(tx, settings)).booking_approval_amount
        approved = await WithdrawStatements(limit).approve(
            tx, arguments.id, actor=actor, now=now, seen=seen, is_single_operator=arguments.alone
        )
        return approved, actor

    return _done(arguments, settings, *approve(arguments, settings, find, act))


def _reject(arguments: argparse.Namespace, settings: Settings) -> int:
    return _decide(
        arguments,
        settings,
        lambda withdraw, tx, actor, now: withdraw.reject(tx, arguments.id, actor=actor, now=now),
    )


def _decide(arguments: argparse.Namespace, settings: Settings, decide: Decide) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> tuple[StatementProposal, Actor]:
        limit = (await with_limits(tx, settings)).booking_approval_amount
        return await decide(WithdrawStatements(limit), tx, actor, now), actor

    return _done(arguments, settings, *write(arguments, settings, act))


def _done(arguments: argparse.Namespace, settings: Settings, done: StatementProposal, actor: Actor) -> int:
    if done.is_approved:
        match_now(settings, actor)  # Lines that another file has are booked as that file's.
    fields = {"id": done.file_id, "booking": done.booking_id, "approved": done.is_approved}
    return print_result(arguments, fields, _in_words(done))


def _in_words(done: StatementProposal) -> str:
    if done.is_approved is None:
        return f"Proposed. Another operator must approve it, at /operator/statements/{done.file_id}."
    if not done.is_approved:
        return "The proposal is rejected. Nothing has changed."
    if done.action is ProposedAction.UNDO:
        return "The booking is undone. Its lines are open: malipo exceptions list"
    return f"The import is withdrawn. What remains of it: malipo statements show {done.file_id}"

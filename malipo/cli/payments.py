"""malipo payments …: cases, that is payments that need an operator, and their resolution."""

import argparse
from collections.abc import Callable
from datetime import datetime
from typing import Any

from malipo import clock, money
from malipo.approvals.operator_limits import with_limits
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.cli import cases as case_rows
from malipo.cli.approval_code import add_approval
from malipo.cli.authority import add_alone, require_here
from malipo.cli.command_table import add_command
from malipo.cli.database import approve, with_database, write
from malipo.cli.output import add_subcommand, cell, print_result, print_table
from malipo.db import Database, Tx
from malipo.networks.routing import find_unconnected
from malipo.payments.cases import cancel_unsent, resolve
from malipo.payments.cases.resolution import NoSuchCase, OperatorFinding, ResolutionResult, ResolvedOutcome
from malipo.payments.store import cases, creators, network_answers, unknown_callbacks
from malipo.payments.store.cases import Case, ProposedResolution
from malipo.payments.store.creators import Creator
from malipo.payments.store.network_answers import StoredAnswer
from malipo.reconciliation.exceptions.approve_case import approve_case
from malipo.settings import Settings

_MOST_CALLBACKS = 200


def add_commands(commands: Any) -> None:
    payments = add_command(commands, "payments")
    acts = payments.add_subparsers(title="acts", metavar="ACT", required=True)
    add_subcommand(acts, "unsettled", _unsettled, "list payments with an unknown outcome or a contradicted one")
    _of_payment(acts, "show", _show, "everything that was heard of one of them, and how far it was put right")
    propose = _of_payment(acts, "resolve", _resolve, "say what became of one; mostly another operator must approve it")
    outcome = propose.add_mutually_exclusive_group(required=True)
    outcome.add_argument(
        "--completed", dest="outcome", action="store_const", const=ResolvedOutcome.COMPLETED, help="the money moved"
    )
    outcome.add_argument(
        "--failed", dest="outcome", action="store_const", const=ResolvedOutcome.FAILED, help="the money did not move"
    )
    outcome.add_argument(
        "--send",
        dest="outcome",
        action="store_const",
        const=ResolvedOutcome.SEND,
        help="send a payout that resembles an adopted one: it is a different payment",
    )
    propose.add_argument("--evidence", required=True, help="the evidence: what the network's statement or staff say")
    propose.add_argument("--provider-reference", help="the network's receipt")
    propose.add_argument(
        "--despite-waiting",
        action="store_true",
        help="with --failed: fail a payout although the network still reports it as waiting",
    )
    propose.add_argument(
        "--waive",
        action="store_true",
        help="of a contradicted payment: write off what the wallet still owes",
    )
    add_alone(propose)
    add_approval(_of_payment(acts, "approve", _approve, "approve what another operator has proposed"))
    _of_payment(acts, "reject", _reject, "reject a proposal, or take your own back")
    cancel = _of_payment(
        acts,
        "cancel",
        _cancel,
        "take back a payout that nobody sends: of a closed merchant, or on a channel that is not connected",
    )
    add_alone(cancel)
    add_subcommand(acts, "unknown-callbacks", _unknown_callbacks, "list callbacks about unknown payments")


def _of_payment(acts: Any, name: str, command: Callable[[argparse.Namespace, Settings], int], help_: str) -> Any:
    act = add_subcommand(acts, name, command, help_)
    act.add_argument("payment", help="the payment's id or reference")
    return act


def _unsettled(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.snapshot() as connection:
            open_ = await cases.find_unsettled(
                connection, unsettled_seconds=settings.unsettled_seconds, unconnected=find_unconnected(settings)
            )
            contradicted = await cases.find_contradicted(connection)
        return [_row(case, settings) for case in [*open_, *contradicted]]

    return print_table(
        arguments,
        with_database(settings, act, command=arguments.act),
        empty="Every payment is settled, or its network has it in hand.",
        right=("amount", "owed"),
    )


def _row(case: Case, settings: Settings) -> dict[str, Any]:
    return case_rows.row_of(
        case,
        unsettled_seconds=settings.unsettled_seconds,
        now=clock.now(),
        unconnected=find_unconnected(settings),
    )


def _show(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> tuple[Case, ProposedResolution | None, list[StoredAnswer], Creator | None]:
        async with database.snapshot() as connection:
            case = await cases.find(connection, arguments.payment)
            if case is None:
                raise NoSuchCase(arguments.payment)
            open_ = await cases.find_open_proposal(connection, case.transaction)
            proposal = None if open_ is None else cases.proposed_resolution(open_)
            merchant_id, id_ = case.transaction.merchant_id, case.transaction.id
            answers = await network_answers.find(connection, merchant_id, id_)
            return case, proposal, answers, await creators.find(connection, merchant_id, id_)

    case, proposal, answers, creator = with_database(settings, act, command=arguments.act)
    row, rows = _row(case, settings), [case_rows.answer_row(each) for each in answers]
    if arguments.json:
        more = {
            "created by": case_rows.creator_of(creator),
            "correction": case_rows.correction_of(case),
            "proposal": case_rows.proposal_of(proposal),
            "heard": rows,
        }
        return print_result(arguments, {**row, **case_rows.parties_of(case), **more}, "")
    for name, value in case_rows.lines_of(case, row, proposal):
        print(f"{name + ':':<20} {cell(value)}")
    if creator is not None:
        print(f"{'created by:':<20} {case_rows.creator_of(creator)}")
    print()
    return print_table(arguments, rows, empty="Nothing was heard of it yet.")


def _resolve(arguments: argparse.Namespace, settings: Settings) -> int:
    finding = OperatorFinding(
        arguments.outcome,
        arguments.evidence.strip(),
        arguments.provider_reference,
        is_despite_waiting=arguments.despite_waiting,
        is_waived=arguments.waive,
    )

    async def act(tx: Tx, actor: Actor, now: datetime) -> ResolutionResult:
        seconds = settings.follow_up_seconds[0]
        return await resolve.propose(
            tx,
            arguments.payment,
            finding,
            actor=actor,
            approval_amount=(await with_limits(tx, settings)).booking_approval_amount,
            now=now,
            follow_up_seconds=seconds,
            is_single_operator=arguments.alone,
        )

    return _print_done(arguments, write(arguments, settings, act))


def _approve(arguments: argparse.Namespace, settings: Settings) -> int:
    require_here(arguments, f"/operator/cases/{arguments.payment}")

    async def find(tx: Tx) -> Proposal | None:
        return await cases.lock_proposal(tx, (await resolve.lock_case(tx, arguments.payment)).transaction)

    async def act(tx: Tx, actor: Actor, now: datetime, seen: str) -> ResolutionResult:
        return await approve_case(
            tx,
            arguments.payment,
            actor=actor,
            now=now,
            follow_up_seconds=settings.follow_up_seconds[0],
            seen=seen,
            is_single_operator=arguments.alone,
        )

    return _print_done(arguments, approve(arguments, settings, find, act))


def _reject(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> ResolutionResult:
        return await resolve.reject(tx, arguments.payment, actor=actor, now=now)

    resolved = write(arguments, settings, act)
    what = f"{case_rows.named(resolved.transaction)}, is still {resolved.transaction.status}"
    return print_result(arguments, case_rows.shown(resolved), f"Rejected: {what}.")


def _cancel(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> ResolutionResult:
        return await cancel_unsent.cancel(
            tx,
            arguments.payment,
            actor=actor,
            now=now,
            unconnected=find_unconnected(settings),
            is_single_operator=arguments.alone,
        )

    done = write(arguments, settings, act)
    if not done.is_done:
        return _print_done(arguments, done)
    cancelled = done.transaction
    shown = {"payment": cancelled.id, "reference": cancelled.reference, "status": cancelled.status}
    back = money.display(cancelled.amount + cancelled.fee)
    return print_result(arguments, shown, f"Cancelled: {case_rows.named(cancelled)}. {back} is back in the wallet.")


def _unknown_callbacks(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.read() as connection:
            found = await unknown_callbacks.find_unknown_callbacks(connection, most=_MOST_CALLBACKS)
        return [case_rows.unknown(each) for each in found]

    empty = "Every callback was about a payment that we have."
    return print_table(arguments, with_database(settings, act), empty=empty, right=("amount",))


def _print_done(arguments: argparse.Namespace, resolved: ResolutionResult) -> int:
    return print_result(arguments, case_rows.shown(resolved), case_rows.sentence_of(resolved))

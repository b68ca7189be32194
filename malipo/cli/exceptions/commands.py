"""malipo exceptions …: list, show, propose, approve, reject and undo."""

import argparse
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from malipo.approvals import decide as approvals
from malipo.approvals.operator_limits import with_limits
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.cli.approval_code import add_approval
from malipo.cli.authority import add_alone, require_here
from malipo.cli.command_table import add_command
from malipo.cli.database import approve, with_database, write
from malipo.cli.exceptions import effects, words
from malipo.cli.output import add_subcommand, cell, print_result, print_table
from malipo.db import Conn, Database, Tx
from malipo.errors import Missing
from malipo.networks.connector import Channel
from malipo.payments.cases.resolution import ResolvedOutcome
from malipo.reconciliation.exceptions.action import Action, Resolution
from malipo.reconciliation.exceptions.apply_action import BOOKED_TO
from malipo.reconciliation.exceptions.resolve_exceptions import NoSuchException, ResolveExceptions
from malipo.reconciliation.exceptions.store import resolutions
from malipo.reconciliation.exceptions.suggest_payments import suggest_payments
from malipo.reconciliation.matching.exception import ExceptionKind, ExceptionState, ReconciliationException, Suggestion
from malipo.reconciliation.matching.store import exceptions
from malipo.reconciliation.matching.store.exceptions import ExceptionFilter
from malipo.settings import Settings

_MOST = 100
_PROPOSABLE = [action for action in Action if action is not Action.UNDO]
_OUTCOMES = [ResolvedOutcome.COMPLETED, ResolvedOutcome.FAILED]
Decide = Callable[[ResolveExceptions, Tx, Actor, datetime], Awaitable[ReconciliationException]]
Changes = Callable[[Conn, ReconciliationException], Awaitable[effects.Rows | None]]


def add_commands(commands: Any) -> None:
    parser = add_command(commands, "exceptions")
    acts = parser.add_subparsers(title="acts", metavar="ACT", required=True)
    list_ = add_subcommand(acts, "list", _list, f"those that are not resolved, the latest {_MOST} first")
    list_.add_argument("--kind", choices=list(ExceptionKind))
    list_.add_argument("--channel", choices=list(Channel))
    list_.add_argument(
        "--state", choices=list(ExceptionState), help="only exceptions in this state (default: all unresolved)"
    )
    list_.add_argument("--before", metavar="ID", help="show the next page: exceptions before this id")
    _of_exception(acts, "show", _show, "one of them, payments that it may be of, and what was proposed about it")
    propose = _of_exception(acts, "propose", _propose, "propose what to do; mostly another operator must approve it")
    propose.add_argument("action", choices=_PROPOSABLE)
    _add_preview(propose)
    propose.add_argument("--reason", required=True, help="what you found out")
    propose.add_argument("--payment", help="match: the id or reference of the line's payment")
    propose.add_argument("--account", choices=list(BOOKED_TO), help="book: the house account to book to")
    propose.add_argument("--merchant", help="adopt: the merchant whose payment it was, by id or name")
    propose.add_argument("--phone", help="adopt: the customer's phone number, if the line does not show it in full")
    propose.add_argument("--name", help="adopt: the customer's name")
    propose.add_argument("--idempotency-key", help="adopt: the Idempotency-Key of the lost request, from the merchant")
    propose.add_argument("--refund-of", help="adopt: the refunded collection, by id or reference")
    propose.add_argument(
        "--on", dest="on_channel", choices=list(Channel), help="adopt: the channel, if the line is an aggregator's"
    )
    propose.add_argument("--outcome", choices=_OUTCOMES, help="resolve: the payment's outcome")
    propose.add_argument("--waive", action="store_true", help="resolve: write off what the merchant still owes")
    propose.add_argument(
        "--despite-waiting",
        action="store_true",
        help="resolve: fail a payout although the network still reports it as waiting",
    )
    approval = _of_exception(acts, "approve", _approve, "approve what another operator has proposed")
    add_approval(approval)
    _add_preview(approval)
    _of_exception(acts, "reject", _reject, "reject a proposal, or take your own back")
    undo = _of_exception(acts, "undo", _undo, "reverse what was done about it; by two operators, if it took two")
    undo.add_argument("--reason", required=True, help="why")
    _add_preview(undo)
    for each in (propose, undo):
        add_alone(each)


def _add_preview(act: Any) -> None:
    act.add_argument(
        "--preview", action="store_true", help="show what would change, account by account, and change nothing"
    )


def _of_exception(acts: Any, name: str, command: Callable[[argparse.Namespace, Settings], int], help_: str) -> Any:
    act = add_subcommand(acts, name, command, help_)
    act.add_argument("exception", help="the exception's id")
    return act


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    wanted = ExceptionFilter(
        kind=ExceptionKind(arguments.kind) if arguments.kind else None,
        channel=Channel(arguments.channel) if arguments.channel else None,
        state=ExceptionState(arguments.state) if arguments.state else None,
    )

    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.read() as connection:
            found = await exceptions.find(connection, wanted, before=arguments.before, limit=_MOST)
        return [words.row_of(each) for each in found]

    return print_table(
        arguments, with_database(settings, act), empty="There are no such exceptions.", right=("amount",)
    )


def _show(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(
        database: Database,
    ) -> tuple[ReconciliationException, list[Suggestion], list[Resolution], effects.Rows | None]:
        async with database.snapshot() as connection:
            found = await _get(connection, arguments)
            history = await resolutions.find(connection, found.id)
            changes = await _proposed_changes(connection, found, settings)
            return found, await suggest_payments(connection, found), history, changes

    found, suggestions, proposals, changes = with_database(settings, act)
    lines = words.lines_of(found)
    may_be, history = [words.suggested(each) for each in suggestions], [words.proposed(each) for each in proposals]
    if arguments.json:
        whole = {**dict(lines), "suggestions": may_be, "resolutions": history, "changes": changes}
        return print_result(arguments, whole, "")
    for name, value in lines:
        print(f"{name + ':':<20} {cell(value)}")
    print()
    if found.line_id is not None:
        print_table(arguments, may_be, empty="No payment without a line has this amount.", right=("amount",))
        print()
    print_table(arguments, history, empty="Nothing was proposed about it yet.")
    if changes is not None:
        print(f"\nWhat is proposed changes:\n{effects.in_words(changes)}")
    return 0


async def _get(connection: Conn, arguments: argparse.Namespace) -> ReconciliationException:
    found = await exceptions.get(connection, arguments.exception)
    if found is None:
        raise NoSuchException(arguments.exception)
    return found


async def _proposed_changes(
    connection: Conn, found: ReconciliationException, settings: Settings
) -> effects.Rows | None:
    waiting = await effects.find_open(connection, found.id)
    return None if waiting is None else await effects.find(connection, found, waiting.action, waiting.terms, settings)


def _propose(arguments: argparse.Namespace, settings: Settings) -> int:
    names = ("payment", "account", "merchant", "phone", "name", "idempotency_key", "refund_of", "outcome")
    named = {name: getattr(arguments, name) for name in names} | {"channel": arguments.on_channel}
    flags = {name: "yes" for name in ("waive", "despite_waiting") if getattr(arguments, name)}
    terms = {name: str(value) for name, value in named.items() if value} | flags
    action = Action(arguments.action)

    async def decide(resolve: ResolveExceptions, tx: Tx, actor: Actor, now: datetime) -> ReconciliationException:
        reason = arguments.reason.strip()
        return await resolve.propose(
            tx,
            arguments.exception,
            action,
            terms,
            reason=reason,
            actor=actor,
            now=now,
            is_single_operator=arguments.alone,
        )

    async def changes(connection: Conn, found: ReconciliationException) -> effects.Rows | None:
        return await effects.find(connection, found, action, terms, settings)

    return _decide(arguments, settings, decide, changes)


def _approve(arguments: argparse.Namespace, settings: Settings) -> int:
    async def changes(connection: Conn, found: ReconciliationException) -> effects.Rows | None:
        return await _proposed_changes(connection, found, settings)

    if arguments.preview:
        return _print_done(arguments, *_look(arguments, settings, changes))
    require_here(arguments, f"/operator/exceptions/{arguments.exception}")

    async def find(tx: Tx) -> Proposal:
        return await approvals.lock_open(tx, resolutions.ACTS, (await _get(tx, arguments)).id)

    async def act(
        tx: Tx, actor: Actor, now: datetime, seen: str
    ) -> tuple[ReconciliationException, effects.Rows | None]:
        shown = await changes(tx, await _get(tx, arguments))
        resolve = ResolveExceptions.of(await with_limits(tx, settings), lambda: now)
        approved = await resolve.approve(
            tx, arguments.exception, actor=actor, now=now, seen=seen, is_single_operator=arguments.alone
        )
        return approved, shown

    return _print_done(arguments, *approve(arguments, settings, find, act))


def _reject(arguments: argparse.Namespace, settings: Settings) -> int:
    return _decide(
        arguments,
        settings,
        lambda resolve, tx, actor, now: resolve.reject(tx, arguments.exception, actor=actor, now=now),
    )


def _undo(arguments: argparse.Namespace, settings: Settings) -> int:
    async def changes(connection: Conn, found: ReconciliationException) -> effects.Rows | None:
        terms = await effects.find_undone(connection, found.id)
        return await effects.find(connection, found, Action.UNDO, terms, settings)

    return _decide(
        arguments,
        settings,
        lambda resolve, tx, actor, now: resolve.undo(
            tx,
            arguments.exception,
            reason=arguments.reason.strip(),
            actor=actor,
            now=now,
            is_single_operator=arguments.alone,
        ),
        changes,
    )


def _decide(arguments: argparse.Namespace, settings: Settings, decide: Decide, changes: Changes | None = None) -> int:
    """Show what the decision changes, account by account, and decide."""

    async def act(tx: Tx, actor: Actor, now: datetime) -> tuple[ReconciliationException, effects.Rows | None]:
        shown = await changes(tx, await _get(tx, arguments)) if changes else None
        resolve = ResolveExceptions.of(await with_limits(tx, settings), lambda: now)
        return await decide(resolve, tx, actor, now), shown

    if changes is not None and arguments.preview:
        return _print_done(arguments, *_look(arguments, settings, changes))
    return _print_done(arguments, *write(arguments, settings, act))


def _look(
    arguments: argparse.Namespace, settings: Settings, changes: Changes
) -> tuple[ReconciliationException, effects.Rows | None]:
    async def look(database: Database) -> tuple[ReconciliationException, effects.Rows | None]:
        async with database.snapshot() as connection:
            found = await _get(connection, arguments)
            return found, await changes(connection, found)

    return with_database(settings, look)


def _print_done(arguments: argparse.Namespace, found: ReconciliationException, shown: effects.Rows | None) -> int:
    is_preview = getattr(arguments, "preview", False)
    if is_preview and shown is None:
        raise Missing("What it is about is not there: nothing is proposed, or there is no such payment or merchant.")
    text = "It would change:" if is_preview else _SENTENCES[found.state].format(found.id)
    if shown is not None:
        text = f"{text}\n{effects.in_words(shown)}"
    return print_result(arguments, words.row_of(found) | {"changes": shown}, text)


_SENTENCES = {
    ExceptionState.OPEN: "{} is open.",
    ExceptionState.PROPOSED: "Proposed. Another operator must approve it, at /operator/exceptions/{}.",
    ExceptionState.RESOLVED: "{} is resolved.",
}

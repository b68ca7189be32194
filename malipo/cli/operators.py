"""malipo operators … and malipo audit: operators and the audit log."""

import argparse
from datetime import datetime
from typing import Any

from malipo import clock, ids
from malipo.accounts.password_strength import weakness_of
from malipo.accounts.passwords import Passwords
from malipo.accounts.store.credential_resets import PASSWORD, SECOND_FACTOR
from malipo.approvals import role_approval
from malipo.approvals.role_approval import RoleTerms
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.cli import operator_login, terminal
from malipo.cli.approval_code import ShownProposal, add_approval, add_seen
from malipo.cli.authority import ApproveOnPages, add_alone, add_here, require_here
from malipo.cli.command_table import COMMANDS, add_command
from malipo.cli.database import approve, approve_shown, with_database, write
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.db import Database, Tx
from malipo.db.database_time import database_now
from malipo.errors import Conflict, Invalid
from malipo.merchants import onboard
from malipo.operators import four_eyes, login
from malipo.operators import store as operators
from malipo.operators.four_eyes import COOLING_TIME
from malipo.operators.roles import Role
from malipo.settings import Settings

_WAITS = (
    " They count as a second operator when a third has vouched for it, or after 72 hours: malipo operators vouch {}"
)
_AS = {Role.MANAGER: " who does everything", Role.SUPPORT: " for support", Role.AUDITOR: " who reads only"}
_DONE = {PASSWORD: "has set the password", SECOND_FACTOR: "has reset the second factor"}


def add_commands(commands: Any) -> None:
    operators = add_command(commands, "operators")
    acts = operators.add_subparsers(title="acts", metavar="ACT", required=True)
    add_subcommand(acts, "list", _list, "list all operators")
    add = add_subcommand(acts, "add", _add, "add an operator; they can act once they have chosen a password")
    add.add_argument("name", help="the operator's name, such as an email address")
    _add_role(add, "--role", default=Role.MANAGER)
    password = add_subcommand(
        acts, "password", _password, "set an operator's password, for the pages at /operator and for the command line"
    )
    password.add_argument("name", help="the operator's name")
    operator_login.add_subcommands(acts)
    reset = add_subcommand(
        acts, "reset-second-factor", _reset_second_factor, "for an operator who has lost the app and the recovery codes"
    )
    reset.add_argument("name", help="the operator's name")
    vouch = add_subcommand(
        acts, "vouch", _vouch, "what another operator has set or reset for this one was right: they count as a second"
    )
    vouch.add_argument("name", help="the operator's name")
    add_here(vouch)
    add_seen(vouch)
    role = add_subcommand(acts, "role", _role, "give another operator a role: propose it to a second one")
    role.add_argument("name", help="the operator's name")
    _add_role(role, "role")
    role.add_argument("--reason", required=True, help="why, for the second operator and the audit log")
    add_alone(role)
    approve_ = add_subcommand(acts, "approve", _approve_role, "approve the role that another operator has proposed")
    approve_.add_argument("name", help="the operator who gets the role")
    add_approval(approve_)
    reject = add_subcommand(acts, "reject", _reject_role, "reject a role that was proposed, or withdraw one's own")
    reject.add_argument("name", help="the operator who would get the role")
    audit = add_subcommand(commands, "audit", _audit, COMMANDS["audit"].help)
    audit.add_argument("--merchant", help="only entries about this merchant")
    audit.add_argument("--limit", type=int, default=50, help="the number of entries (default: 50)")


def _add_role(act: Any, name: str, **more: Any) -> None:
    choices = "manager does everything, support reads merchants and payments, auditor reads everything"
    default = " (default: manager)" if more else ""
    act.add_argument(name, type=Role, choices=list(Role), help=f"what they may do: {choices}{default}", **more)


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.read() as connection:
            found = await operators.find_operators(connection)
            proposed = {
                each.subject: each.terms_as(RoleTerms).role for each in await role_approval.find_open(connection)
            }
            counts_from = {
                each.name: each.reset_at + COOLING_TIME
                for each in four_eyes.last_of_each(await four_eyes.find_open(connection, now=clock.now()))
            }
        return [
            {
                "name": each.name,
                "role": each.role.value,
                "proposed role": proposed.get(each.name),
                "since": each.created_at,
                "second operator from": counts_from.get(each.name),
            }
            for each in found
        ]

    return print_table(arguments, with_database(settings, act), empty="There are no operators yet.")


def _add(arguments: argparse.Namespace, settings: Settings) -> int:
    name = arguments.name.strip().lower()
    if not 1 <= len(name) <= 100 or not name.isprintable() or " " in name:
        raise Invalid("An operator's name is 1 to 100 printable characters without spaces.")

    async def act(tx: Any, actor: Any, now: Any) -> None:
        if not await operators.insert_operator(tx, ids.mint("opr_", now), name, now=now, role=arguments.role):
            raise Conflict(f"There is already an operator {name!r}.")
        await audit_log.append(tx, actor, "operator.added", now=now, name=name, role=arguments.role.value)

    write(arguments, settings, act)
    sentence = f"{name} is an operator{_AS[arguments.role]}. Next: malipo operators password {name}"
    return print_result(arguments, {"name": name, "role": arguments.role}, sentence)


def _password(arguments: argparse.Namespace, settings: Settings) -> int:
    name = login.name_of(arguments.name)
    password = terminal.secret(arguments, "New password")
    if not arguments.stdin and password != terminal.secret(arguments, "Once more"):
        raise Invalid("That was not the same password twice.")
    if weakness := weakness_of(password, name):
        raise Invalid(f"The password {weakness.sentence}.")

    async def act(tx: Any, actor: Any, now: Any) -> bool:
        return await login.set_password(tx, name, await Passwords().hash(password), actor=actor, now=now)

    waits = write(arguments, settings, act)
    sentence = f"{name} logs in with it, at /operator or with malipo operators login. Sessions from before have ended."
    return print_result(arguments, {"name": name}, sentence + _WAITS.format(name) * waits)


def _reset_second_factor(arguments: argparse.Namespace, settings: Settings) -> int:
    name = login.name_of(arguments.name)
    waits = write(arguments, settings, lambda tx, actor, now: login.reset_second_factor(tx, name, actor=actor, now=now))
    sentence = f"The second factor of {name} is gone, and their sessions have ended. They set up another at the log-in."
    return print_result(arguments, {"name": name}, sentence + _WAITS.format(name) * waits)


def _vouch(arguments: argparse.Namespace, settings: Settings) -> int:
    if not arguments.here:
        raise ApproveOnPages("/operator")
    name = login.name_of(arguments.name)

    async def show(tx: Tx) -> ShownProposal | None:
        """The code is the last reset's id, as on the pages."""
        found = await four_eyes.find_open_of(tx, name, now=await database_now(tx))
        lines = [f"{clock.iso(each.reset_at)} {each.by} {_DONE[each.credential]}" for each in found]
        return ShownProposal(found[-1].id, {"operator": name}, lines) if found else None

    async def act(tx: Tx, actor: Actor, now: datetime, seen: str) -> None:
        await four_eyes.vouch(tx, name, actor=actor, now=now, last_seen=seen)

    approve_shown(arguments, settings, show, act)
    return print_result(arguments, {"name": name}, f"{name} counts again where a decision takes two operators.")


def _role(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> Proposal | None:
        return await role_approval.request(
            tx,
            arguments.name,
            arguments.role,
            arguments.reason.strip(),
            actor=actor,
            now=now,
            is_single_operator=arguments.alone,
        )

    name = login.name_of(arguments.name)
    proposal = write(arguments, settings, act)
    if proposal is None:
        return _print_role(arguments, name, arguments.role)
    shown = {"name": name, "role": arguments.role, "isDone": False, "proposal": proposal.id}
    return print_result(arguments, shown, f"Proposed. Another operator approves it: malipo operators approve {name}")


def _approve_role(arguments: argparse.Namespace, settings: Settings) -> int:
    require_here(arguments, "/operator/operators")

    async def find(tx: Tx) -> Proposal:
        return await role_approval.lock_open(tx, arguments.name)

    async def act(tx: Tx, actor: Actor, now: datetime, seen: str) -> Role:
        return await role_approval.approve(
            tx, arguments.name, actor=actor, now=now, seen=seen, is_single_operator=arguments.alone
        )

    return _print_role(arguments, login.name_of(arguments.name), approve(arguments, settings, find, act))


def _reject_role(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Tx, actor: Actor, now: datetime) -> Proposal:
        return await role_approval.reject(tx, arguments.name, actor=actor, now=now)

    rejected = write(arguments, settings, act)
    return print_result(arguments, {"name": rejected.subject, "isDone": False}, "Rejected: the role is as it was.")


def _print_role(arguments: argparse.Namespace, name: str, role: Role) -> int:
    sentence = f"{name} is an operator{_AS[role]}. Their sessions have ended."
    return print_result(arguments, {"name": name, "role": role, "isDone": True}, sentence)


def _audit(arguments: argparse.Namespace, settings: Settings) -> int:
    if not 1 <= arguments.limit <= 10_000:
        raise Invalid("--limit must be from 1 to 10,000.")

    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.begin() as tx:
            merchant_id = await onboard.find_merchant(tx, arguments.merchant) if arguments.merchant else None
            found = await audit_log.find(tx, merchant_id=merchant_id, limit=arguments.limit)
        return [
            {
                "at": deed.created_at,
                "who": deed.actor,
                "from": deed.address,
                "system user": deed.os_user,
                "what": deed.action,
                "merchant": deed.merchant_id,
                "details": deed.details if arguments.json else _in_words(dict(deed.details)),
            }
            for deed in found
        ]

    return print_table(arguments, with_database(settings, act), empty="Nothing has been done yet.")


def _in_words(details: dict[str, Any]) -> str:
    return "; ".join(
        f"{name} {', '.join(map(str, value)) if isinstance(value, list) else value}" for name, value in details.items()
    )

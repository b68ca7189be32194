"""malipo merchant …: merchants and their people."""

import argparse
from datetime import datetime
from typing import Any

from malipo import clock
from malipo.accounts.store.credential_resets import PASSWORD, SECOND_FACTOR
from malipo.audit_log.actor import Actor
from malipo.cli.approval_code import ShownProposal, add_seen
from malipo.cli.command_table import add_command
from malipo.cli.database import approve_shown, with_database, write
from malipo.cli.output import add_subcommand, print_result, print_table
from malipo.db import Database, Tx
from malipo.db.database_time import database_now
from malipo.email_address import email_of
from malipo.errors import Missing
from malipo.merchants import four_eyes, manage_people, onboard, second_factor
from malipo.merchants.password_links import make_link
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.merchants.store import merchants, people
from malipo.settings import Settings
from malipo.validation.fields import Fields

_WAITS = (
    " They pay out nothing, and make no key that does, until an owner or another operator vouches for it, or for 72 "
    "hours: malipo merchant vouch {}"
)
_DONE = {PASSWORD: "has made a link for the password", SECOND_FACTOR: "has reset the second factor"}


def add_commands(commands: Any) -> None:
    merchant = add_command(commands, "merchant")
    acts = merchant.add_subparsers(title="acts", metavar="ACT", required=True)
    add_subcommand(acts, "list", _list, "list all merchants")
    create = add_subcommand(acts, "create", _create, "create a merchant, with an empty wallet")
    create.add_argument("name", help="the merchant's name")
    for name, command, help_ in (
        ("activate", _activate, "let a merchant take payments (again)"),
        ("deactivate", _deactivate, "stop a merchant: keys get 403, every session ends"),
    ):
        add_subcommand(acts, name, command, help_).add_argument("merchant", help="the merchant's id or name")
    person = add_subcommand(
        acts, "add-person", _add_person, "let somebody log in for a merchant; prints a one-time token"
    )
    person.add_argument("merchant", help="the merchant's id or name")
    person.add_argument("email")
    person.add_argument("--name", default="", help="the person's name")
    person.add_argument("--role", choices=list(Role), default=Role.OWNER, help="the person's role (default: owner)")
    link = add_subcommand(acts, "password-link", _password_link, "create a one-time link for choosing a new password")
    link.add_argument("email")
    reset = add_subcommand(
        acts, "reset-second-factor", _reset_second_factor, "for a person who has lost the app and the recovery codes"
    )
    reset.add_argument("email")
    vouch = add_subcommand(
        acts, "vouch", _vouch, "vouch for a person for whom another operator has made a link, or did a reset"
    )
    vouch.add_argument("email")
    add_seen(vouch)


def _list(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(database: Database) -> list[dict[str, Any]]:
        async with database.read() as connection:
            found = await merchants.find_all(connection)
        return [
            {"id": each.id, "name": each.name, "active": each.is_active, "created": each.created_at} for each in found
        ]

    return print_table(arguments, with_database(settings, act), empty="There are no merchants yet.")


def _create(arguments: argparse.Namespace, settings: Settings) -> int:
    name = arguments.name.strip()
    merchant_id = write(
        arguments, settings, lambda tx, actor, now: onboard.create_merchant(tx, name, actor=actor, now=now)
    )
    sentence = f"Merchant {name} is {merchant_id}. Next: malipo merchant add-person {merchant_id} EMAIL"
    return print_result(arguments, {"id": merchant_id, "name": name}, sentence)


def _activate(arguments: argparse.Namespace, settings: Settings) -> int:
    return _set_active(arguments, settings, is_active=True)


def _deactivate(arguments: argparse.Namespace, settings: Settings) -> int:
    return _set_active(arguments, settings, is_active=False)


def _set_active(arguments: argparse.Namespace, settings: Settings, *, is_active: bool) -> int:
    async def act(tx: Any, actor: Any, now: Any) -> str:
        merchant_id = await onboard.find_merchant(tx, arguments.merchant)
        await onboard.set_active(tx, merchant_id, is_active=is_active, actor=actor, now=now)
        return merchant_id

    merchant_id = write(arguments, settings, act)
    word = "active" if is_active else "not active"
    return print_result(arguments, {"id": merchant_id, "isActive": is_active}, f"Merchant {merchant_id} is {word}.")


def _add_person(arguments: argparse.Namespace, settings: Settings) -> int:
    fields = Fields({"name": arguments.name})
    name = fields.text("name", most=100, is_line=True).strip()
    fields.check()

    async def act(tx: Any, actor: Any, now: Any) -> tuple[Any, str, str]:
        person = await manage_people.add_person(
            tx,
            await onboard.find_merchant(tx, arguments.merchant),
            email=arguments.email,
            name=name,
            role=Role(arguments.role),
            actor=actor,
            now=now,
        )
        token = await make_link(tx, person, actor=actor, now=now)
        return person, token, await _waits(tx, person, now)

    person, token, waits = write(arguments, settings, act)
    return print_result(
        arguments,
        {"id": person.id, "email": person.email, "role": person.role, "passwordToken": token},
        f"{person.email} is {person.role} of {person.merchant_id}.{waits} {_how_to_use(token)}",
    )


def _password_link(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Any, actor: Any, now: Any) -> tuple[str, str]:
        person = await _find_person(tx, arguments.email)
        token = await make_link(tx, person, actor=actor, now=now)
        return token, await _waits(tx, person, now)

    token, waits = write(arguments, settings, act)
    shown = {"email": arguments.email, "passwordToken": token}
    return print_result(arguments, shown, f"{waits} {_how_to_use(token)}".strip())


def _reset_second_factor(arguments: argparse.Namespace, settings: Settings) -> int:
    async def act(tx: Any, actor: Any, now: Any) -> tuple[str, str]:
        person = await _find_person(tx, arguments.email)
        await second_factor.reset(tx, person, actor=actor, now=now)
        return person.email, await _waits(tx, person, now)

    email, waits = write(arguments, settings, act)
    sentence = f"The second factor of {email} is gone, and their sessions have ended. The password alone lets them in."
    return print_result(arguments, {"email": email}, sentence + waits)


def _vouch(arguments: argparse.Namespace, settings: Settings) -> int:
    async def show(tx: Tx) -> ShownProposal | None:
        """The code is the last reset's id, as on the pages of owners."""
        person = await _find_person(tx, arguments.email)
        found = await four_eyes.find_open_of_operators(tx, person, now=await database_now(tx))
        lines = [f"{clock.iso(each.reset_at)} {each.by} {_DONE[each.credential]}" for each in found]
        whose = {"person": person.email, "merchant": person.merchant_id}
        return ShownProposal(found[-1].id, whose, lines) if found else None

    async def act(tx: Tx, actor: Actor, now: datetime, seen: str) -> str:
        person = await _find_person(tx, arguments.email)
        await four_eyes.vouch_as_operator(tx, person, actor=actor, now=now, last_seen=seen)
        return person.email

    email = approve_shown(arguments, settings, show, act)
    return print_result(
        arguments, {"email": email}, f"You vouch for {email}: what operators did to the account was right."
    )


async def _waits(tx: Tx, person: Person, now: datetime) -> str:
    is_waiting = person.email in await four_eyes.find_not_paying(tx, person.merchant_id, now=now)
    return _WAITS.format(person.email) if is_waiting else ""


async def _find_person(tx: Any, email: str) -> Person:
    person = await people.find_by_email(tx, email_of(email) or "")
    if person is None:
        raise Missing(f"Nobody has the email {email!r}.")
    return person


def _how_to_use(token: str) -> str:
    return (
        "They choose a password, once and within 24 hours, with\n\n"
        "  POST /merchant/auth/reset\n"
        f'  {{"token": "{token}", "password": "…"}}'
    )

"""Adds and removes the people of a merchant, and changes their roles. There is always an owner."""

from datetime import datetime

from malipo import ids
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.email_address import email_of
from malipo.errors import Code, Conflict, Invalid
from malipo.merchants import four_eyes, second_factor
from malipo.merchants.password_links import end_links
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.merchants.store import people
from malipo.messages.store import choices


class EmailTaken(Conflict):
    code = "email_taken"


class LastOwner(Conflict):
    code = "last_owner"

    def __init__(self) -> None:
        super().__init__("A merchant needs an owner: make somebody else one first.")


class RightsRefusal(Code):
    APPROVAL_FIXED = "approval_fixed"


class ApprovalFixed(Conflict):
    code = RightsRefusal.APPROVAL_FIXED


async def add_person(
    tx: Tx, merchant_id: str, *, email: str, name: str, role: Role, actor: Actor, now: datetime
) -> Person:
    known = email_of(email)
    if known is None:
        raise Invalid(
            "The request has invalid fields.", code="email_invalid", details={"email": [f"{email!r} is not an email."]}
        )
    person = Person(ids.mint("per_", now), merchant_id, known, name, role, None, now)
    if not await people.insert(tx, person):
        raise EmailTaken(f"{known} already has an account.")
    await audit_log.append(tx, actor, "person.added", now=now, merchant_id=merchant_id, email=known, role=role)
    return person


async def change_role(tx: Tx, person: Person, role: Role, *, actor: Actor, now: datetime) -> None:
    await four_eyes.require_not_waiting(tx, person.merchant_id, actor, now=now)
    await _keep_an_owner(tx, person, role)
    await choices.note_former_owner(tx, person.id, now=now)
    await people.set_role(tx, person.id, role)
    await end_links(tx, person.id, now=now)
    await audit_log.append(
        tx, actor, "person.role_changed", now=now, merchant_id=person.merchant_id, email=person.email, role=role
    )


async def allow_approval(tx: Tx, person: Person, may_approve: bool, *, actor: Actor, now: datetime) -> None:
    """Set whether a person of the staff may approve batches that others made."""
    if person.role is not Role.STAFF:
        raise ApprovalFixed
    await four_eyes.require_not_waiting(tx, person.merchant_id, actor, now=now)
    if await people.set_may_approve(tx, person.id, may_approve=may_approve):
        await audit_log.append(
            tx,
            actor,
            "person.approval_changed",
            now=now,
            merchant_id=person.merchant_id,
            email=person.email,
            may_approve=may_approve,
        )


async def remove_person(tx: Tx, person: Person, *, actor: Actor, now: datetime) -> None:
    """Remove a person. Their sessions end at once."""
    if await _keep_an_owner(tx, person, None):
        await four_eyes.require_not_waiting(tx, person.merchant_id, actor, now=now)
    await choices.note_former_owner(tx, person.id, now=now)
    await end_links(tx, person.id, now=now)
    await choices.forget(tx, person.id)
    await people.delete(tx, person.id)
    await second_factor.forget(tx, person)
    await audit_log.append(tx, actor, "person.removed", now=now, merchant_id=person.merchant_id, email=person.email)


async def _keep_an_owner(tx: Tx, person: Person, role: Role | None) -> bool:
    """Refuse to remove the last owner. Returns whether this person is an owner."""
    everybody = await people.lock_all(tx, person.merchant_id)
    others = [each for each in everybody if each.id != person.id and each.role is Role.OWNER]
    is_owner = any(each.id == person.id and each.role is Role.OWNER for each in everybody)
    if is_owner and role is not Role.OWNER and not others:
        raise LastOwner
    return is_owner

"""The second factor of a merchant's people: changes, resets, and whether all people need one."""

from datetime import datetime

from malipo.accounts.account import AccountOwner
from malipo.accounts.second_factor import enrol
from malipo.accounts.store import new_place_alerts, pending_logins, second_factors, trusted_browsers
from malipo.accounts.store.credential_resets import SECOND_FACTOR
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Code, Conflict, Forbidden
from malipo.merchants import four_eyes
from malipo.merchants.password_links import end_links_made_in
from malipo.merchants.people import Person
from malipo.merchants.store import merchants, sessions


class EnrolmentRequired(Forbidden):
    code = "second_factor_not_enrolled"

    def __init__(self) -> None:
        super().__init__("This merchant requires two-step log-in: set it up in the dashboard first.")


class PeopleRefusal(Code):
    OWN_FIRST = "second_factor_own_first"
    OWN = "second_factor_own"


class OwnFirst(Conflict):
    code = PeopleRefusal.OWN_FIRST


class NotOneself(Conflict):
    code = PeopleRefusal.OWN


def owner_of(person: Person, address: str) -> AccountOwner:
    return AccountOwner(person.id, person.email, Actor(person.email, address), person.merchant_id)


async def changed(tx: Tx, person: Person, kept_session: str, *, now: datetime) -> None:
    """End other sessions and all trust of browsers, after an enrolment or a removal."""
    await sessions.end_other_sessions(tx, person.id, kept_session, now=now)
    await end_links_made_in(tx, await sessions.find_others(tx, person.id, kept_session), now=now)
    await end_trust(tx, person)


async def end_trust(tx: Tx, person: Person) -> None:
    """End the trust of browsers and waiting log-ins, also after a new password: they began with the old one."""
    await trusted_browsers.end_all_trust(tx, person.id)
    await pending_logins.delete_pending_logins_of(tx, person.id)


async def reset(tx: Tx, person: Person, *, actor: Actor, now: datetime) -> None:
    """Reset the second factor of a person who has lost the app and the recovery codes. The person's sessions end."""
    await enrol.reset(tx, owner_of(person, actor.address), actor=actor, now=now)
    await four_eyes.note_reset(tx, person, SECOND_FACTOR, actor=actor, now=now)
    await sessions.end_all(tx, now=now, person_id=person.id)
    await end_trust(tx, person)


async def forget(tx: Tx, person: Person) -> None:
    """Delete the second factor and the browsers of a removed person."""
    await second_factors.delete(tx, person.id)
    await pending_logins.delete_pending_logins_of(tx, person.id)
    await new_place_alerts.forget(tx, person.id)


async def set_required(tx: Tx, person: Person, *, is_required: bool, actor: Actor, now: datetime) -> None:
    """Set whether all people of the merchant need a second factor. A person without one must then set it up first."""
    if is_required and await second_factors.find(tx, person.id) is None:
        raise OwnFirst
    if await merchants.set_second_factor_required(tx, person.merchant_id, is_required=is_required):
        action = "second_factor.required" if is_required else "second_factor.not_required"
        await audit_log.append(tx, actor, action, now=now, merchant_id=person.merchant_id)

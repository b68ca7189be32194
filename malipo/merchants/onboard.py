"""Takes merchants in, and sends them away: a name, an empty wallet, the first people."""

from datetime import datetime

from malipo import ids
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Conflict, Invalid, Missing, Refusal
from malipo.ledger.store import wallets as ledger
from malipo.merchants.people import Person, Role, email_of
from malipo.merchants.store import merchants, people, sessions

_MOST_NAME = 100


class Ambiguous(Refusal):
    code = "ambiguous"


class EmailTaken(Conflict):
    code = "email_taken"


class LastOwner(Conflict):
    code = "last_owner"

    def __init__(self) -> None:
        super().__init__("A merchant needs an owner: make somebody else one first.")


async def create_merchant(tx: Tx, name: str, *, actor: Actor, now: datetime) -> str:
    if not 1 <= len(name) <= _MOST_NAME or not name.isprintable():
        raise Invalid(f"A merchant's name is 1 to {_MOST_NAME} printable characters.")
    merchant_id = ids.mint("mer_", now)
    await merchants.insert(tx, merchant_id, name, now=now)
    await ledger.open_wallet(tx, merchant_id, now=now)
    await audit_log.append(tx, actor, "merchant.created", now=now, merchant_id=merchant_id, name=name)
    return merchant_id


async def find_merchant(tx: Tx, id_or_name: str) -> str:
    """The id of the merchant an operator means."""
    if await merchants.exists(tx, id_or_name):
        return id_or_name
    match await merchants.find_by_name(tx, id_or_name):
        case [merchant_id]:
            return merchant_id
        case []:
            raise Missing(f"There is no merchant {id_or_name!r}.")
        case several:
            raise Ambiguous(f"Several merchants are called {id_or_name!r}: {', '.join(several)}. Give the id.")


async def set_active(tx: Tx, merchant_id: str, *, is_active: bool, actor: Actor, now: datetime) -> None:
    """A merchant that is not active may do nothing: keys get 403, and every session ends."""
    await merchants.set_active(tx, merchant_id, is_active=is_active)
    if not is_active:
        await sessions.end_all(tx, now=now, merchant_id=merchant_id)
    what = "merchant.activated" if is_active else "merchant.deactivated"
    await audit_log.append(tx, actor, what, now=now, merchant_id=merchant_id)


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
    await _keep_an_owner(tx, person, role)
    await people.set_role(tx, person.id, role)
    await audit_log.append(
        tx, actor, "person.role_changed", now=now, merchant_id=person.merchant_id, email=person.email, role=role
    )


async def remove_person(tx: Tx, person: Person, *, actor: Actor, now: datetime) -> None:
    """Their sessions go with them, at once."""
    await _keep_an_owner(tx, person, None)
    await people.delete(tx, person.id)
    await audit_log.append(tx, actor, "person.removed", now=now, merchant_id=person.merchant_id, email=person.email)


async def _keep_an_owner(tx: Tx, person: Person, role: Role | None) -> None:
    everybody = await people.lock_all(tx, person.merchant_id)
    others = [each for each in everybody if each.id != person.id and each.role is Role.OWNER]
    is_owner = any(each.id == person.id and each.role is Role.OWNER for each in everybody)
    if is_owner and role is not Role.OWNER and not others:
        raise LastOwner

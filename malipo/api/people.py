"""/merchant/people: the people of a merchant and their roles."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from malipo import clock
from malipo.api.parts import ApiParts
from malipo.api.request_body import object_of
from malipo.api.request_credentials import actor_of
from malipo.api.responses import success
from malipo.api.urls import id_in
from malipo.db import Tx
from malipo.errors import Missing
from malipo.merchants import manage_people
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.merchants.store import people
from malipo.merchants.store.sessions import MerchantSession
from malipo.validation.fields import Fields


class NoSuchPerson(Missing):
    code = "person_not_found"

    def __init__(self) -> None:
        super().__init__("There is no person with this id.")


async def list_(parts: ApiParts, session: MerchantSession, request: Request) -> Response:
    found = await parts.queries.read(lambda connection: people.find_all(connection, session.person.merchant_id))
    return success({"people": [_listed(person, session.person) for person in found]})


async def add(parts: ApiParts, session: MerchantSession, request: Request) -> Response:
    fields = Fields(await object_of(request))
    email = fields.email("email")
    name = fields.text("name", most=100, is_line=True).strip()
    role = fields.choice("role", Role, is_required=True) or Role.VIEWER
    fields.check()
    actor, now = actor_of(parts, session, request), parts.clock()
    person, link = await parts.accounts.invitations.invite(
        session, email=email, name=name, role=role, actor=actor, now=now
    )
    message = "Hand over the token: it lets the person choose a password once, within 24 hours."
    return success({"person": _shown(person), "passwordToken": link, "message": message}, status=201)


async def change(parts: ApiParts, session: MerchantSession, request: Request) -> Response:
    fields = Fields(await object_of(request))
    role = fields.choice("role", Role, is_required=True) or Role.VIEWER
    fields.check()
    actor = actor_of(parts, session, request)

    async def act(tx: Tx) -> Person:
        person = await _get(tx, session, request)
        await manage_people.change_role(tx, person, role, actor=actor, now=parts.clock())
        return await _get(tx, session, request)

    return success({"person": _shown(await parts.queries.write(act))})


async def remove(parts: ApiParts, session: MerchantSession, request: Request) -> Response:
    actor = actor_of(parts, session, request)

    async def act(tx: Tx) -> None:
        await manage_people.remove_person(tx, await _get(tx, session, request), actor=actor, now=parts.clock())

    await parts.queries.write(act)
    return success({"message": "The person is removed, and their sessions have ended."})


async def _get(tx: Tx, session: MerchantSession, request: Request) -> Person:
    person = await people.get(tx, session.person.merchant_id, id_in(request, NoSuchPerson))
    if person is None:
        raise NoSuchPerson
    return person


def _listed(person: Person, reader: Person) -> dict[str, Any]:
    """A viewer is not shown the emails of colleagues, because an email is half of a log-in."""
    is_told = reader.role is not Role.VIEWER or person.id == reader.id
    return _shown(person) if is_told else _shown(person) | {"email": None}


def _shown(person: Person) -> dict[str, Any]:
    return {
        "id": person.id,
        "email": person.email,
        "name": person.name,
        "role": person.role,
        "createdAt": clock.iso(person.created_at),
    }

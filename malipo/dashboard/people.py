"""The people of a business: who they are, what they may do, a link for a password, and removing them."""

from collections.abc import Mapping

from starlette.responses import Response

from malipo.dashboard import draw, mistakes
from malipo.dashboard.place import base_url, id_in
from malipo.dashboard.visit import Visit
from malipo.db import Conn, Tx
from malipo.errors import Conflict, Missing
from malipo.fields import Fields
from malipo.merchants import onboard
from malipo.merchants.login import make_link
from malipo.merchants.onboard import EmailTaken
from malipo.merchants.people import Person, Role
from malipo.merchants.store import people
from malipo.merchants.tokens import LINK_LIFE
from malipo.trail import store as trail

PATH = "/dashboard/settings/people"

_LINK_HOURS = int(LINK_LIFE.total_seconds() // 3600)


async def show(visit: Visit) -> Response:
    found = await visit.service.read(lambda connection: people.find_all(connection, visit.merchant_id))
    return draw.page(visit, "settings_people.html", people=found)


async def ask_for_new(visit: Visit) -> Response:
    return _form(visit, {"email": "", "name": "", "role": Role.STAFF}, {})


async def add(visit: Visit) -> Response:
    """The answer is the page with the link. It cannot be a redirect: the link is nowhere else."""
    form = await visit.form()
    typed = {name: form.text(name) for name in ("email", "name", "role")}
    fields = Fields({name: value or None for name, value in typed.items()})
    email, name = fields.email("email"), fields.required_text("name", most=100)
    role = fields.choice("role", Role, is_required=True)
    if fields.mistakes or role is None:
        return _form(visit, typed, mistakes.in_words(visit.words, fields))
    now = visit.service.clock()

    async def act(tx: Tx) -> tuple[Person, str]:
        person = await onboard.add_person(
            tx, visit.merchant_id, email=email, name=name, role=role, actor=visit.actor, now=now
        )
        return person, await make_link(tx, person, now=now)

    try:
        person, link = await visit.service.write(act)
    except EmailTaken as refusal:
        return _form(visit, typed, {"email": mistakes.of_refusal(visit.words, refusal)})
    return _link(visit, person, link, is_new=True)


async def show_one(visit: Visit) -> Response:
    return await _page(visit)


async def change_role(visit: Visit) -> Response:
    form = await visit.form()
    fields = Fields({"role": form.text("role") or None})
    role = fields.choice("role", Role, is_required=True)
    if role is None:
        return await _page(visit, problem=mistakes.in_words(visit.words, fields)["role"], status=400)

    async def act(tx: Tx) -> None:
        person = await _get(tx, visit)
        if person.role is not role:
            await onboard.change_role(tx, person, role, actor=visit.actor, now=visit.service.clock())

    try:
        await visit.service.write(act)
    except Conflict as refusal:
        return await _page(visit, problem=mistakes.of_refusal(visit.words, refusal), status=409)
    # Whoever has demoted themselves may no longer see the list.
    is_still_owner = id_in(visit) != visit.person.id or role is Role.OWNER
    return visit.go(PATH if is_still_owner else "/dashboard/settings", "role-changed")


async def give_link(visit: Visit) -> Response:
    """For somebody who has forgotten the password, or let the first link grow old."""
    await visit.form()
    now = visit.service.clock()

    async def act(tx: Tx) -> tuple[Person, str]:
        person = await _get(tx, visit)
        await trail.note(
            tx, visit.actor, "password_link.made", now=now, merchant_id=person.merchant_id, email=person.email
        )
        return person, await make_link(tx, person, now=now)

    person, link = await visit.service.write(act)
    return _link(visit, person, link, is_new=False)


async def ask_to_remove(visit: Visit) -> Response:
    person = await visit.service.read(lambda connection: _get(connection, visit))
    return draw.page(visit, "settings_person_remove.html", somebody=person)


async def remove(visit: Visit) -> Response:
    await visit.form()

    async def act(tx: Tx) -> Person:
        person = await _get(tx, visit)
        await onboard.remove_person(tx, person, actor=visit.actor, now=visit.service.clock())
        return person

    try:
        removed = await visit.service.write(act)
    except Conflict as refusal:
        return await _page(visit, problem=mistakes.of_refusal(visit.words, refusal), status=409)
    return visit.go("/dashboard/login" if removed.id == visit.person.id else PATH, "person-removed")


async def _page(visit: Visit, *, problem: str | None = None, status: int = 200) -> Response:
    person = await visit.service.read(lambda connection: _get(connection, visit))
    return draw.page(visit, "settings_person.html", status=status, somebody=person, problem=problem, hours=_LINK_HOURS)


async def _get(connection: Conn, visit: Visit) -> Person:
    person = await people.get(connection, visit.merchant_id, id_in(visit))
    if person is None:
        raise Missing("There is no person with this id.")
    return person


def _form(visit: Visit, typed: Mapping[str, str], problems: Mapping[str, str]) -> Response:
    status = 400 if problems else 200
    return draw.page(visit, "settings_person_new.html", status=status, typed=typed, problems=problems)


def _link(visit: Visit, person: Person, link: str, *, is_new: bool) -> Response:
    url = f"{base_url(visit)}/dashboard/password?token={link}"
    return draw.page(
        visit,
        "settings_link.html",
        status=201,
        somebody=person,
        link=url,
        is_new=is_new,
        hours=_LINK_HOURS,
    )

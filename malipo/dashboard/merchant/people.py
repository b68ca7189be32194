"""The people of a merchant: list, add, change a role, password links, remove."""

from collections.abc import Mapping

from starlette.responses import Response

from malipo.accounts.store import second_factors
from malipo.accounts.tokens import LINK_LIFE
from malipo.dashboard import form_errors, render
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.merchant.unvouched_people import WaitingPerson, find_waiting
from malipo.dashboard.urls import base_url, id_in
from malipo.db import Conn, Tx
from malipo.email_address import is_mailable
from malipo.errors import Conflict, Missing, Refusal
from malipo.merchants import manage_people
from malipo.merchants.four_eyes import NotVouchedFor
from malipo.merchants.manage_people import EmailTaken
from malipo.merchants.password_links import TooManyMails, mail_link, make_link
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.merchants.store import merchants, people
from malipo.validation.fields import Fields

PATH = "/dashboard/settings/people"

_LINK_HOURS = int(LINK_LIFE.total_seconds() // 3600)


async def show(request: MerchantRequest) -> Response:
    return await page_of_all(request)


async def page_of_all(request: MerchantRequest, *, problem: str | None = None, status: int = 200) -> Response:
    async def find(connection: Conn) -> tuple[list[Person], set[str], bool, dict[str, WaitingPerson]]:
        found = await people.find_all(connection, request.merchant_id)
        enrolled = await second_factors.find_enrolled(connection, [each.id for each in found])
        is_required = await merchants.requires_second_factor(connection, request.merchant_id)
        return found, enrolled, is_required, await find_waiting(connection, request)

    found, enrolled, is_required, waiting = await request.parts.queries.read_snapshot(find)
    return render.page(
        request,
        "merchant/settings/people.html",
        status=status,
        people=found,
        enrolled=enrolled,
        is_required=is_required,
        waiting=waiting,
        problem=problem,
    )


async def show_new_form(request: MerchantRequest) -> Response:
    return _form(request, {"email": "", "name": "", "role": Role.STAFF}, {})


async def add(request: MerchantRequest) -> Response:
    """Without a mail server, and for an address to which nothing can be sent, the answer is the page with the link. It
    cannot be a redirect: the link is nowhere else."""
    form = await request.form()
    typed = {name: form.text(name) for name in ("email", "name", "role")}
    fields = Fields({name: value or None for name, value in typed.items()})
    email, name = fields.email("email"), fields.required_text("name", most=100, is_line=True)
    role = fields.choice("role", Role, is_required=True)
    if fields.mistakes or role is None:
        return _form(request, typed, form_errors.in_words(request.words, fields))
    now = request.parts.clock()
    assert request.session is not None
    try:
        person, link = await request.parts.accounts.invitations.invite(
            request.session,
            email=email,
            name=name,
            role=role,
            actor=request.actor,
            now=now,
            by_mail=sends_mail(request) and is_mailable(email),
            language=request.words.language,
        )
    except (EmailTaken, TooManyMails) as refusal:
        return _form(request, typed, {"email": form_errors.of_refusal(request.words, refusal)})
    if link is None:
        return request.go(PATH, "invitation-sent")
    return _link(request, person, link, is_new=True)


def sends_mail(request: MerchantRequest) -> bool:
    return request.parts.settings.smtp_url is not None


async def show_one(request: MerchantRequest) -> Response:
    return await page(request)


async def change_role(request: MerchantRequest) -> Response:
    form = await request.form()
    fields = Fields({"role": form.text("role") or None})
    role = fields.choice("role", Role, is_required=True)
    if role is None:
        return await page(request, problem=form_errors.in_words(request.words, fields)["role"], status=400)

    async def act(tx: Tx) -> None:
        person = await get(tx, request)
        if person.role is not role:
            await manage_people.change_role(tx, person, role, actor=request.actor, now=request.parts.clock())

    try:
        await request.parts.queries.write(act)
    except (Conflict, NotVouchedFor) as refusal:
        return await refused(request, refusal)
    # People who have lowered their own role may no longer see the list.
    is_still_owner = id_in(request) != request.person.id or role is Role.OWNER
    return request.go(PATH if is_still_owner else "/dashboard/settings", "role-changed")


async def give_link(request: MerchantRequest) -> Response:
    """Make a new link for a person who has forgotten the password, or whose first link has expired."""
    await request.form()
    now = request.parts.clock()

    async def act(tx: Tx) -> tuple[Person, str]:
        person = await get(tx, request)
        return person, await make_link(tx, person, actor=request.actor, session=request.session, now=now)

    try:
        person, link = await request.parts.queries.write(act)
    except NotVouchedFor as refusal:
        return await refused(request, refusal)
    return _link(request, person, link, is_new=False)


async def mail_new_link(request: MerchantRequest) -> Response:
    """Send a person a new link by e-mail."""
    await request.form()
    now = request.parts.clock()
    if not sends_mail(request):
        raise Missing("This service sends no e-mail.")
    assert request.session is not None
    session = request.session

    async def act(tx: Tx) -> None:
        person = await get(tx, request)
        await mail_link(tx, person, business=session.business, actor=request.actor, session=session, now=now)

    try:
        await request.parts.queries.write(act)
    except (NotVouchedFor, Conflict) as refusal:
        return await refused(request, refusal)
    return request.go(f"{PATH}/{id_in(request)}", "link-sent")


async def confirm_remove(request: MerchantRequest) -> Response:
    person = await request.parts.queries.read(lambda connection: get(connection, request))
    return render.page(request, "merchant/settings/person_remove.html", somebody=person)


async def remove(request: MerchantRequest) -> Response:
    await request.form()

    async def act(tx: Tx) -> Person:
        person = await get(tx, request)
        await manage_people.remove_person(tx, person, actor=request.actor, now=request.parts.clock())
        return person

    try:
        removed = await request.parts.queries.write(act)
    except (Conflict, NotVouchedFor) as refusal:
        return await refused(request, refusal)
    return request.go("/dashboard/login" if removed.id == request.person.id else PATH, "person-removed")


async def refused(request: MerchantRequest, refusal: Refusal) -> Response:
    problem = form_errors.of_refusal(request.words, refusal)
    return await page(request, problem=problem, status=form_errors.status_of(refusal))


async def page(request: MerchantRequest, *, problem: str | None = None, status: int = 200) -> Response:
    async def find(connection: Conn) -> tuple[Person, bool]:
        person = await get(connection, request)
        return person, person.id in await second_factors.find_enrolled(connection, [person.id])

    person, is_enrolled = await request.parts.queries.read(find)
    return render.page(
        request,
        "merchant/settings/person.html",
        status=status,
        somebody=person,
        is_enrolled=is_enrolled,
        problem=problem,
        hours=_LINK_HOURS,
        sends_mail=sends_mail(request) and is_mailable(person.email),
    )


async def get(connection: Conn, request: MerchantRequest) -> Person:
    person = await people.get(connection, request.merchant_id, id_in(request))
    if person is None:
        raise Missing("There is no person with this id.")
    return person


def _form(request: MerchantRequest, typed: Mapping[str, str], problems: Mapping[str, str]) -> Response:
    status = 400 if problems else 200
    return render.page(
        request,
        "merchant/settings/person_new.html",
        status=status,
        typed=typed,
        problems=problems,
        sends_mail=sends_mail(request),
    )


def _link(request: MerchantRequest, person: Person, link: str, *, is_new: bool) -> Response:
    url = f"{base_url(request)}/dashboard/password?token={link}"
    return render.page(
        request,
        "merchant/settings/password_link.html",
        status=201,
        somebody=person,
        link=url,
        is_new=is_new,
        hours=_LINK_HOURS,
    )

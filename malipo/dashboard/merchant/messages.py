"""Settings → Messages: which messages a person gets by e-mail, and in which language. Each person decides alone."""

from collections.abc import Mapping

from starlette.responses import Response

from malipo.dashboard import message_choices, render
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.message_choices import TypedChoices
from malipo.email_address import is_mailable
from malipo.http.accept_language import Language
from malipo.merchants.people import Person
from malipo.merchants.roles import Role
from malipo.messages.kinds import KINDS, OF_PEOPLE, Audience, MessageKind

PATH = "/dashboard/settings/messages"


def audiences_of(person: Person) -> list[Audience]:
    """The audiences of a person's messages, by the same rule as `messages/store/recipients.py`."""
    is_owner, is_staff = person.role is Role.OWNER, person.role is Role.STAFF
    belongs = {
        Audience.ACCOUNT: True,
        Audience.PEOPLE: True,
        Audience.OWNERS: is_owner,
        Audience.OWNERS_OF_LATE: is_owner,
        Audience.PAYERS: is_owner or is_staff,
        Audience.APPROVERS: is_owner or (is_staff and person.may_approve),
    }
    return [audience for audience, is_one in belongs.items() if is_one]


def kinds_of(person: Person) -> list[MessageKind]:
    """The kinds of messages that a person can switch on and off."""
    audiences = audiences_of(person)
    return [kind for kind in OF_PEOPLE if KINDS[kind].audience in audiences]


async def show(request: MerchantRequest) -> Response:
    person, default = request.person, Language(request.parts.settings.mail_language)
    typed = await request.parts.queries.read(
        lambda connection: message_choices.find(connection, person.id, kinds_of(person), default)
    )
    return _page(request, typed, {})


async def choose(request: MerchantRequest) -> Response:
    person, typed = request.person, message_choices.read(await request.form())
    if problems := message_choices.problems_of(request, typed):
        return _page(request, typed, problems)
    await request.parts.queries.write(lambda tx: message_choices.write(tx, person.id, kinds_of(person), typed))
    return request.go(PATH, "messages-chosen")


def _page(request: MerchantRequest, typed: TypedChoices, problems: Mapping[str, str]) -> Response:
    return render.page(
        request,
        "merchant/settings/messages.html",
        status=400 if problems else 200,
        typed=typed,
        problems=problems,
        is_mailable=is_mailable(request.person.email),
        **message_choices.shown(request, kinds_of(request.person), audiences_of(request.person)),
    )

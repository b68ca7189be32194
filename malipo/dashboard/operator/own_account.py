"""An operator's own account: two-step log-in, sessions, trusted browsers, and messages by e-mail."""

from collections.abc import Mapping
from datetime import datetime

from starlette.responses import Response

from malipo.audit_log import store as audit_log
from malipo.dashboard import form_errors, message_choices, render
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.second_factor_pages import SecondFactorPages
from malipo.dashboard.trusted_browser_pages import find_browsers
from malipo.dashboard.urls import id_in
from malipo.db import Tx
from malipo.email_address import email_of, is_mailable
from malipo.errors import Missing
from malipo.http.accept_language import Language
from malipo.http.user_agents import device_of
from malipo.messages.kinds import OF_OPERATORS, Audience
from malipo.operators import change_address as addresses
from malipo.operators import second_factor, store

PATH = "/operator/account"
_MOST_SHOWN = 50


class OperatorSecondFactorPages(SecondFactorPages[OperatorRequest]):
    path = f"{PATH}/second-factor"
    back = PATH

    async def _changed(self, tx: Tx, request: OperatorRequest, now: datetime) -> None:
        assert request.session is not None
        await second_factor.changed(tx, request.session.operator, request.session.id, now=now)


ADDRESS = f"{PATH}/address"
MESSAGES = f"{PATH}/messages"

OWN = OperatorSecondFactorPages()


async def show(request: OperatorRequest) -> Response:
    return await _page(request)


async def change_address(request: OperatorRequest) -> Response:
    """Empty: no messages."""
    typed = (await request.form()).text("email")
    email, now = email_of(typed), request.parts.clock()
    if typed and (email is None or not is_mailable(email)):
        return await _page(request, typed, {"email": form_errors.sentence(request.words, "email_invalid")})
    is_changed = await request.parts.queries.write(
        lambda tx: addresses.change_address(tx, request.owner.id, email, actor=request.actor, now=now)
    )
    return request.go(f"{PATH}#messages", "address-changed" if is_changed else "address-same")


async def choose_messages(request: OperatorRequest) -> Response:
    typed = message_choices.read(await request.form())
    await request.parts.queries.write(lambda tx: message_choices.write(tx, request.owner.id, OF_OPERATORS, typed))
    return request.go(f"{PATH}#messages", "messages-chosen")


async def _page(
    request: OperatorRequest, typed_email: str | None = None, problems: Mapping[str, str] | None = None
) -> Response:
    this, operator_id, now = request.session_id, request.owner.id, request.parts.clock()
    found = await request.parts.queries.read(
        lambda connection: store.find_sessions(connection, operator_id, now=now, most=_MOST_SHOWN)
    )
    count = await request.parts.queries.read(lambda connection: store.count_live(connection, operator_id, now=now))
    default = Language(request.parts.settings.mail_language)
    email = await request.parts.queries.read(lambda connection: store.find_address(connection, operator_id))
    chosen = await request.parts.queries.read(
        lambda connection: message_choices.find(connection, operator_id, OF_OPERATORS, default)
    )
    return render.page(
        request,
        "operator/account.html",
        status=400 if problems else 200,
        problems=problems or {},
        email=email,
        typed_email=(email or "") if typed_email is None else typed_email,
        typed=chosen,
        **message_choices.shown(request, OF_OPERATORS, [Audience.ACCOUNT, Audience.OPERATOR]),
        sessions=[(each, device_of(each.user_agent)) for each in sorted(found, key=lambda each: each.id != this)],
        more_sessions=max(count - len(found), 0),
        this=this,
        has_second_factor=request.has_second_factor,
        browsers=await find_browsers(request) if request.has_second_factor else [],
    )


async def end_one(request: OperatorRequest) -> Response:
    await request.form()
    session_id, operator_id, now = id_in(request), request.owner.id, request.parts.clock()

    async def act(tx: Tx) -> None:
        if not await store.end_session(tx, operator_id, session_id, now=now):
            raise Missing("There is no session with this id.")
        await audit_log.append(tx, request.actor, "session.ended", now=now)

    await request.parts.queries.write(act)
    return request.go(f"{PATH}#sessions", "session-ended")


async def end_others(request: OperatorRequest) -> Response:
    await request.form()
    this, operator_id, now = request.session_id or "", request.owner.id, request.parts.clock()

    async def act(tx: Tx) -> None:
        if await store.end_others(tx, operator_id, this, now=now):
            await audit_log.append(tx, request.actor, "session.others_ended", now=now)

    await request.parts.queries.write(act)
    return request.go(f"{PATH}#sessions", "sessions-ended")

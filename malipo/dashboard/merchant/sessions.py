"""Sessions of a person, by browser and address, and how to end them."""

from starlette.responses import Response

from malipo.audit_log import store as audit_log
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.urls import id_in
from malipo.db import Tx
from malipo.errors import Missing
from malipo.merchants.password_links import end_links_made_in
from malipo.merchants.store import sessions
from malipo.merchants.store.sessions import LiveMerchantSession

_MOST_SHOWN = 50
_PATH = "/dashboard/settings#sessions"


async def find(request: MerchantRequest) -> tuple[list[LiveMerchantSession], int]:
    """The sessions, the current one first, then the latest; and how many more there are."""
    assert request.session is not None
    person_id, this, now = request.person.id, request.session.id, request.parts.clock()
    found = await request.parts.queries.read(
        lambda connection: sessions.find_sessions(connection, person_id, now=now, most=_MOST_SHOWN)
    )
    count = await request.parts.queries.read(lambda connection: sessions.count_live(connection, person_id, now=now))
    return sorted(found, key=lambda each: each.id != this), max(count - len(found), 0)


async def end_one(request: MerchantRequest) -> Response:
    await request.form()
    session_id, now = id_in(request), request.parts.clock()

    async def act(tx: Tx) -> None:
        if not await sessions.end_session(tx, request.person.id, session_id, now=now):
            raise Missing("There is no session with this id.")
        await end_links_made_in(tx, [session_id], now=now)
        await audit_log.append(tx, request.actor, "session.ended", now=now, merchant_id=request.merchant_id)

    await request.parts.queries.write(act)
    return request.go(_PATH, "session-ended")


async def end_others(request: MerchantRequest) -> Response:
    await request.form()
    assert request.session is not None
    this, now = request.session.id, request.parts.clock()

    async def act(tx: Tx) -> None:
        if await sessions.end_other_sessions(tx, request.person.id, this, now=now):
            await end_links_made_in(tx, await sessions.find_others(tx, request.person.id, this), now=now)
            await audit_log.append(tx, request.actor, "session.others_ended", now=now, merchant_id=request.merchant_id)

    await request.parts.queries.write(act)
    return request.go(_PATH, "sessions-ended")

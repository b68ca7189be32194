"""Trusted browsers and messages about a new place, as a user deals with them: the same on both sites."""

from collections.abc import Awaitable, Callable

from starlette.responses import Response

from malipo.accounts.new_place_alerts import ALERT_LIFE
from malipo.accounts.store import new_place_alerts, trusted_browsers
from malipo.accounts.store.new_place_alerts import Alert, ViewingSession
from malipo.accounts.store.trusted_browsers import TrustedBrowser
from malipo.audit_log import store as audit_log
from malipo.dashboard.browser_request import BrowserRequest
from malipo.dashboard.urls import id_in
from malipo.db import Tx
from malipo.errors import Missing
from malipo.http.user_agents import Device, device_of


async def find_browsers(request: BrowserRequest) -> list[tuple[TrustedBrowser, Device]]:
    now, account_id = request.parts.clock(), request.owner.id
    found = await request.parts.queries.read(
        lambda connection: trusted_browsers.find_trusted(connection, account_id, now=now)
    )
    return [(each, device_of(each.user_agent)) for each in found]


def ending_trust(back: str) -> Callable[[BrowserRequest], Awaitable[Response]]:
    """The browser in the path is asked for a code again; then back to the page that lists it."""

    async def end(request: BrowserRequest) -> Response:
        await request.form()
        browser_id, owner, now = id_in(request), request.owner, request.parts.clock()

        async def act(tx: Tx) -> None:
            if not await trusted_browsers.end_trust(tx, owner.id, browser_id):
                raise Missing("There is no trusted browser with this id.")
            await audit_log.append(tx, owner.actor, "browser.trust_ended", now=now, merchant_id=owner.merchant_id)

        await request.parts.queries.write(act)
        return request.go(back, "trust-ended")

    return end


async def find_alerts(request: BrowserRequest) -> list[Alert]:
    """The alerts that the user has not answered. A session that began after the log-in does not see its alert."""
    account_id, asking, since = request.owner.id, _asking(request), request.parts.clock() - ALERT_LIFE
    return await request.parts.queries.read(
        lambda connection: new_place_alerts.find_unread(connection, account_id, asking, since=since)
    )


async def read_alert(request: BrowserRequest) -> Response:
    """The user confirms the log-in. If the alert was answered already in another window, that is no error."""
    await request.form()
    session_id, owner, asking = id_in(request), request.owner, _asking(request)
    now = request.parts.clock()

    async def act(tx: Tx) -> None:
        if await new_place_alerts.read_alert(tx, owner.id, session_id, asking, now=now):
            await audit_log.append(tx, owner.actor, "session.new_place_known", now=now, merchant_id=owner.merchant_id)

    await request.parts.queries.write(act)
    return request.go(request.root)


def _asking(request: BrowserRequest) -> ViewingSession:
    return ViewingSession(request.session_id or "", request.browser.hash)

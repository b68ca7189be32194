"""Where a person is logged in, in words, and how they end it from elsewhere."""

from starlette.responses import Response

from malipo.dashboard.place import id_in
from malipo.dashboard.visit import Visit
from malipo.db import Tx
from malipo.errors import Missing
from malipo.merchants.store import browsing
from malipo.merchants.store.browsing import LiveSession
from malipo.trail import store as trail

_MOST_SHOWN = 50
_PATH = "/dashboard/settings#sessions"

# Browsers name each other, so the order counts: what stands first is the narrower.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Opera", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("UCBrowser", "UC Browser"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
    ("curl", "curl"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("KAIOS", "KaiOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


async def find(visit: Visit) -> list[LiveSession]:
    """The one that asks first, then the latest."""
    assert visit.session is not None
    person_id, this, now = visit.person.id, visit.session.id, visit.service.clock()
    found = await visit.service.read(
        lambda connection: browsing.find_sessions(connection, person_id, now=now, most=_MOST_SHOWN)
    )
    return sorted(found, key=lambda each: each.id != this)


async def end_one(visit: Visit) -> Response:
    await visit.form()
    session_id, now = id_in(visit), visit.service.clock()

    async def act(tx: Tx) -> None:
        if not await browsing.end_session(tx, visit.person.id, session_id, now=now):
            raise Missing("There is no session with this id.")
        await trail.note(tx, visit.actor, "session.ended", now=now, merchant_id=visit.merchant_id)

    await visit.service.write(act)
    return visit.go(_PATH, "session-ended")


async def end_others(visit: Visit) -> Response:
    await visit.form()
    assert visit.session is not None
    this, now = visit.session.id, visit.service.clock()

    async def act(tx: Tx) -> None:
        if await browsing.end_other_sessions(tx, visit.person.id, this, now=now):
            await trail.note(tx, visit.actor, "session.others_ended", now=now, merchant_id=visit.merchant_id)

    await visit.service.write(act)
    return visit.go(_PATH, "sessions-ended")


def words_for(user_agent: str) -> tuple[str | None, str | None]:
    """The browser and the system by the names that people know them by, as far as they can be told."""
    browser = next((name for sign, name in _BROWSERS if sign in user_agent), None)
    system = next((name for sign, name in _SYSTEMS if sign in user_agent), None)
    return browser, system

"""Your own settings: password, language, and where you are logged in."""

from collections.abc import Mapping

from starlette.responses import Response

from malipo.dashboard import cookies, draw, mistakes
from malipo.dashboard.sessions import find, words_for
from malipo.dashboard.visit import Visit
from malipo.errors import Refusal, TooMany

PATH = "/dashboard/settings"
_NOT_THE_SAME = "This is not the same password."


async def show(visit: Visit) -> Response:
    return await _page(visit, {})


async def change_password(visit: Visit) -> Response:
    """Every session ends, this one too: whoever knew the old password is out."""
    form = await visit.form()
    current, new = form.secret("current"), form.secret("password")
    missing = {
        name: mistakes.sentence(visit.words, "field_required")
        for name in ("current", "password")
        if not form.secret(name)
    }
    if missing:
        return await _page(visit, missing)
    if new != form.secret("again"):
        return await _page(visit, {"again": visit.words(_NOT_THE_SAME)})
    try:
        await visit.service.login.change_password(
            visit.person, current, new, address=visit.address, now=visit.service.clock()
        )
    except Refusal as refusal:
        field = "password" if refusal.code == "password_weak" else "current"
        status = 429 if isinstance(refusal, TooMany) else 400
        return await _page(visit, {field: mistakes.of_refusal(visit.words, refusal)}, status=status)
    response = visit.go("/dashboard/login", "password-chosen")
    cookies.end_session(response)
    return response


async def _page(visit: Visit, problems: Mapping[str, str], *, status: int = 400) -> Response:
    assert visit.session is not None
    return draw.page(
        visit,
        "settings.html",
        status=status if problems else 200,
        problems=problems,
        sessions=[(each, words_for(each.user_agent)) for each in await find(visit)],
        this=visit.session.id,
    )

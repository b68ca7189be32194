"""In and out, and in which language."""

from starlette.responses import Response

from malipo.dashboard import cookies, draw
from malipo.dashboard.language import Language
from malipo.dashboard.visit import Visit
from malipo.errors import Refusal

_HOME = "/dashboard"


async def show(visit: Visit) -> Response:
    if visit.session is not None:
        return visit.go(_HOME)
    return draw.page(visit, "login.html", email="", problem=None, next=_inside(visit.request.query_params.get("next")))


async def log_in(visit: Visit) -> Response:
    """A session of its own for every log-in: whatever cookie the browser came with is forgotten."""
    visit.session = None
    form = await visit.form()
    inside = _inside(form.text("next"))
    try:
        session_id = await visit.service.login.begin(
            form.text("email"),
            form.secret("password"),
            address=visit.address,
            user_agent=visit.request.headers.get("user-agent", ""),
            now=visit.service.clock(),
        )
    except Refusal as refusal:
        problem = visit.words(refusal.message)
        return draw.page(visit, "login.html", status=400, email=form.text("email"), problem=problem, next=inside)
    response = visit.go(inside)
    cookies.set_session(response, visit.request, visit.service.cookies.make(session_id))
    return response


async def log_out(visit: Visit) -> Response:
    await visit.form()
    assert visit.session is not None
    await visit.service.login.log_out(visit.session, now=visit.service.clock())
    response = visit.go("/dashboard/login", "logged-out")
    cookies.end_session(response)
    return response


async def choose_language(visit: Visit) -> Response:
    form = await visit.form()
    response = visit.go(_inside(form.text("next")))
    if form.text("language") in Language.__members__.values():
        cookies.set_language(response, form.text("language"))
    return response


def _inside(path: str | None) -> str:
    """Where to go next, if it is one of our own pages: nobody is sent elsewhere by a link to the log-in."""
    is_ours = path is not None and path.startswith("/dashboard") and "//" not in path and "\\" not in path
    return path if path is not None and is_ours else _HOME

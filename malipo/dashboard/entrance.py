"""In and out, a first password, and in which language."""

from http import HTTPStatus

from starlette.responses import Response

from malipo.dashboard import cookies, draw, mistakes
from malipo.dashboard.language import Language
from malipo.dashboard.visit import Form, Guest, Visit
from malipo.errors import Refusal, TooMany
from malipo.merchants.login import LinkNotGood
from malipo.merchants.people import Person
from malipo.merchants.store import people
from malipo.merchants.tokens import hash_of
from malipo.origin import is_secure


async def show(visit: Visit) -> Response:
    inside = visit.inside(visit.request.query_params.get("next"))
    if visit.session is not None:
        return visit.go(inside)
    return draw.page(visit, "login.html", email="", problem=None, next=inside)


async def log_in(visit: Visit) -> Response:
    """A session of its own for every log-in: the one that the browser came with ends."""
    former, visit.session = visit.session, None
    form = await visit.form()
    try:
        session_id = await visit.service.login.begin(
            form.text("email"),
            form.secret("password"),
            address=visit.address,
            user_agent=visit.request.headers.get("user-agent", ""),
            now=visit.service.clock(),
        )
    except Refusal as refusal:
        return _log_in_again(visit, form, refusal)
    if former is not None:
        await visit.service.login.log_out(former, now=visit.service.clock())
    response = visit.go(visit.inside(form.text("next")))
    is_over_tls = is_secure(visit.request, visit.service.settings.trusted_proxies)
    cookies.set_session(response, visit.service.cookies.make(session_id), is_secure=is_over_tls)
    return response


def _log_in_again(visit: Visit, form: Form, refusal: Refusal) -> Response:
    is_too_often = isinstance(refusal, TooMany)
    response = draw.page(
        visit,
        "login.html",
        status=HTTPStatus.TOO_MANY_REQUESTS if is_too_often else HTTPStatus.BAD_REQUEST,
        email=form.text("email"),
        problem=mistakes.of_refusal(visit.words, refusal),
        next=visit.inside(form.text("next")),
    )
    if isinstance(refusal, TooMany):
        response.headers["Retry-After"] = str(refusal.retry_after_seconds)
    return response


async def log_out(visit: Visit) -> Response:
    await visit.form()
    assert visit.session is not None
    await visit.service.login.log_out(visit.session, now=visit.service.clock())
    response = visit.go("/dashboard/login", "logged-out")
    cookies.end_session(response)
    return response


async def show_link(visit: Visit) -> Response:
    """Where a one-time link leads. Looking at it does not use it up: programs that preview links do so."""
    link = visit.request.query_params.get("token", "")
    person = await _person_of(visit, link)
    if person is None:
        return _dead_link(visit, LinkNotGood())
    return _choose(visit, link, person.email, {})


async def use_link(visit: Visit) -> Response:
    form = await visit.form()
    link, password = form.text("link"), form.secret("password")
    person = await _person_of(visit, link)
    if person is None:
        return _dead_link(visit, LinkNotGood())
    if password != form.secret("again"):
        return _choose(visit, link, person.email, {"again": visit.words("This is not the same password.")})
    try:
        await visit.service.login.use_link(link, password, address=visit.address, now=visit.service.clock())
    except LinkNotGood as refusal:
        return _dead_link(visit, refusal)
    except Refusal as refusal:
        return _choose(visit, link, person.email, {"password": mistakes.of_refusal(visit.words, refusal)})
    return visit.go("/dashboard/login", "password-chosen")


async def _person_of(visit: Visit, link: str) -> Person | None:
    now = visit.service.clock()
    return await visit.service.read(lambda connection: people.find_link(connection, hash_of(link), now=now))


def _choose(visit: Visit, link: str, email: str, errors: dict[str, str]) -> Response:
    status = HTTPStatus.BAD_REQUEST if errors else HTTPStatus.OK
    return draw.page(visit, "password.html", status=status, link=link, email=email, errors=errors, problem=None)


def _dead_link(visit: Visit, refusal: LinkNotGood) -> Response:
    problem = mistakes.of_refusal(visit.words, refusal)
    return draw.page(visit, "password.html", status=400, link=None, email="", errors={}, problem=problem)


async def choose_language(visit: Guest) -> Response:
    form = await visit.form()
    response = visit.go(visit.inside(form.text("next")))
    if form.text("language") in Language.__members__.values():
        cookies.set_language(response, form.text("language"), path=visit.root)
    return response

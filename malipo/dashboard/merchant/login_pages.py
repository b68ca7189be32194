"""Log-in, log-out, choosing a password, and the language."""

from http import HTTPStatus

from starlette.responses import Response

from malipo.access.tokens import hash_of
from malipo.client_address import is_secure
from malipo.dashboard import cookies, form_errors, render
from malipo.dashboard.browser_request import BrowserRequest, Form
from malipo.dashboard.language import Language
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.errors import Refusal, TooMany
from malipo.merchants.login import LinkNotGood
from malipo.merchants.people import Person
from malipo.merchants.store import people


async def show(request: MerchantRequest) -> Response:
    inside = request.inside(request.http.query_params.get("next"))
    if request.session is not None:
        return request.go(inside)
    return render.page(request, "merchant/login.html", email="", problem=None, next=inside)


async def log_in(request: MerchantRequest) -> Response:
    """A session of its own for every log-in: the one that the browser came with ends."""
    former, request.session = request.session, None
    form = await request.form()
    try:
        session_id = await request.service.login.begin(
            form.text("email"),
            form.secret("password"),
            address=request.address,
            user_agent=request.http.headers.get("user-agent", ""),
            now=request.service.clock(),
        )
    except Refusal as refusal:
        return _log_in_again(request, form, refusal)
    if former is not None:
        await request.service.login.log_out(former, now=request.service.clock())
    response = request.go(request.inside(form.text("next")))
    is_over_tls = is_secure(request.http, request.service.settings.trusted_proxies)
    cookies.set_session(response, request.service.cookies.make(session_id), is_secure=is_over_tls)
    return response


def _log_in_again(request: MerchantRequest, form: Form, refusal: Refusal) -> Response:
    is_too_often = isinstance(refusal, TooMany)
    response = render.page(
        request,
        "merchant/login.html",
        status=HTTPStatus.TOO_MANY_REQUESTS if is_too_often else HTTPStatus.BAD_REQUEST,
        email=form.text("email"),
        problem=form_errors.of_refusal(request.words, refusal),
        next=request.inside(form.text("next")),
    )
    if isinstance(refusal, TooMany):
        response.headers["Retry-After"] = str(refusal.retry_after_seconds)
    return response


async def log_out(request: MerchantRequest) -> Response:
    await request.form()
    assert request.session is not None
    await request.service.login.log_out(request.session, now=request.service.clock())
    response = request.go("/dashboard/login", "logged-out")
    cookies.end_session(response)
    return response


async def show_link(request: MerchantRequest) -> Response:
    """Where a one-time link leads. Looking at it does not use it up: programs that preview links do so."""
    link = request.http.query_params.get("token", "")
    person = await _person_of(request, link)
    if person is None:
        return _dead_link(request, LinkNotGood())
    return _choose(request, link, person.email, {})


async def use_link(request: MerchantRequest) -> Response:
    form = await request.form()
    link, password = form.text("link"), form.secret("password")
    person = await _person_of(request, link)
    if person is None:
        return _dead_link(request, LinkNotGood())
    if password != form.secret("again"):
        return _choose(request, link, person.email, {"again": request.words("This is not the same password.")})
    try:
        await request.service.login.use_link(link, password, address=request.address, now=request.service.clock())
    except LinkNotGood as refusal:
        return _dead_link(request, refusal)
    except Refusal as refusal:
        return _choose(request, link, person.email, {"password": form_errors.of_refusal(request.words, refusal)})
    return request.go("/dashboard/login", "password-chosen")


async def _person_of(request: MerchantRequest, link: str) -> Person | None:
    now = request.service.clock()
    return await request.service.read(lambda connection: people.find_link(connection, hash_of(link), now=now))


def _choose(request: MerchantRequest, link: str, email: str, errors: dict[str, str]) -> Response:
    status = HTTPStatus.BAD_REQUEST if errors else HTTPStatus.OK
    return render.page(
        request, "merchant/password.html", status=status, link=link, email=email, errors=errors, problem=None
    )


def _dead_link(request: MerchantRequest, refusal: LinkNotGood) -> Response:
    problem = form_errors.of_refusal(request.words, refusal)
    return render.page(request, "merchant/password.html", status=400, link=None, email="", errors={}, problem=problem)


async def choose_language(request: BrowserRequest) -> Response:
    form = await request.form()
    response = request.go(request.inside(form.text("next")))
    if form.text("language") in Language.__members__.values():
        cookies.set_language(response, form.text("language"), path=request.root)
    return response

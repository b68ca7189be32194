"""People of merchants log in and out, and choose a password by a one-time link."""

from http import HTTPStatus

from starlette.responses import Response

from malipo.access.tokens import hash_of
from malipo.dashboard import cookies, form_errors, render
from malipo.dashboard.login_pages import LoginPages
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.errors import Refusal
from malipo.merchants.login import LinkNotGood
from malipo.merchants.people import Person
from malipo.merchants.store import people


class MerchantLoginPages(LoginPages[MerchantRequest]):
    template = "merchant/login.html"
    field = "email"
    cookie = cookies.SESSION

    async def _begin(self, request: MerchantRequest, name: str, password: str) -> str:
        return await request.service.login.begin(
            name,
            password,
            address=request.address,
            user_agent=request.http.headers.get("user-agent", ""),
            now=request.service.clock(),
        )

    async def _end(self, request: MerchantRequest) -> None:
        if request.session is not None:
            await request.service.sessions.log_out(request.session, now=request.service.clock())


LOGIN = MerchantLoginPages()


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

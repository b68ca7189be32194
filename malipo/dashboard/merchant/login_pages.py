"""People of merchants log in and out, and choose a password by a one-time link."""

from http import HTTPStatus

from starlette.responses import Response

from malipo.accounts.known_browsers import Browser
from malipo.accounts.password_login import FirstStep
from malipo.accounts.second_factor.check_code import TypedCode
from malipo.accounts.tokens import hash_of
from malipo.dashboard import cookies, form_errors, render
from malipo.dashboard.login_pages import LoginPages
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.errors import Refusal
from malipo.merchants.password_links import LinkNotGood
from malipo.merchants.people import Person
from malipo.merchants.store import password_links

_LOST = "Lost your telephone and your recovery codes? An owner of your business can reset this for you."
SENTENCES = (_LOST,)


class MerchantLoginPages(LoginPages[MerchantRequest]):
    template = "merchant/login.html"
    field = "email"
    cookie = cookies.SESSION
    pending = cookies.PENDING
    lost = _LOST

    async def _begin(self, request: MerchantRequest, name: str, password: str, browser: Browser) -> FirstStep:
        parts, address = request.parts, request.address
        return await parts.accounts.login.begin(name, password, address=address, browser=browser, now=parts.clock())

    async def _waits(self, request: MerchantRequest, token: str) -> bool:
        return await request.parts.accounts.login.waits_for_code(token, now=request.parts.clock())

    async def _finish(
        self, request: MerchantRequest, token: str, typed: TypedCode, browser: Browser, *, is_trusted: bool
    ) -> str:
        parts, address = request.parts, request.address
        return await parts.accounts.login.finish(
            token, typed, address=address, browser=browser, now=parts.clock(), is_trusted=is_trusted
        )

    async def _end(self, request: MerchantRequest) -> None:
        if request.session is not None:
            parts = request.parts
            await parts.accounts.sessions.log_out(request.session, address=request.address, now=parts.clock())


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
        await request.parts.accounts.login.use_link(link, password, address=request.address, now=request.parts.clock())
    except LinkNotGood as refusal:
        return _dead_link(request, refusal)
    except Refusal as refusal:
        return _choose(request, link, person.email, {"password": form_errors.of_refusal(request.words, refusal)})
    return request.go("/dashboard/login", "password-chosen")


async def _person_of(request: MerchantRequest, link: str) -> Person | None:
    now = request.parts.clock()
    return await request.parts.queries.read(lambda connection: password_links.find(connection, hash_of(link), now=now))


def _choose(request: MerchantRequest, link: str, email: str, errors: dict[str, str]) -> Response:
    status = HTTPStatus.BAD_REQUEST if errors else HTTPStatus.OK
    return render.page(
        request, "merchant/password.html", status=status, link=link, email=email, errors=errors, problem=None
    )


def _dead_link(request: MerchantRequest, refusal: LinkNotGood) -> Response:
    problem = form_errors.of_refusal(request.words, refusal)
    return render.page(request, "merchant/password.html", status=400, link=None, email="", errors={}, problem=problem)

"""Log-in and log-out in a browser: the same on both sites."""

from abc import ABC, abstractmethod
from http import HTTPStatus
from typing import Generic, TypeVar
from urllib.parse import quote

from starlette.responses import Response

from malipo.accounts.known_browsers import Browser
from malipo.accounts.password_login import FirstStep
from malipo.accounts.second_factor.check_code import TypedCode
from malipo.accounts.second_factor.pending_login import PendingLoginOver
from malipo.dashboard import form_errors, render
from malipo.dashboard.browser_request import BrowserRequest
from malipo.dashboard.cookies import SessionCookie
from malipo.dashboard.forms import Form
from malipo.errors import Refusal, TooMany
from malipo.http.client_address import is_secure

SomeRequest = TypeVar("SomeRequest", bound=BrowserRequest)


class LoginPages(ABC, Generic[SomeRequest]):
    template: str
    field: str  # the form's name for what people log in with: email or name
    cookie: SessionCookie
    pending: SessionCookie
    lost: str  # what to do without a telephone and without recovery codes

    @abstractmethod
    async def _begin(self, request: SomeRequest, name: str, password: str, browser: Browser) -> FirstStep:
        """A new session, or one that waits for a code."""

    @abstractmethod
    async def _waits(self, request: SomeRequest, token: str) -> bool:
        """Whether a log-in waits for a code."""

    @abstractmethod
    async def _finish(
        self, request: SomeRequest, token: str, typed: TypedCode, browser: Browser, *, is_trusted: bool
    ) -> str:
        """The id of a new session, after the code."""

    @abstractmethod
    async def _end(self, request: SomeRequest) -> None:
        """The session that the browser came with has ended, if it had one."""

    async def show(self, request: SomeRequest) -> Response:
        inside = request.inside(request.http.query_params.get("next"))
        if request.session_id is not None:
            return request.go(inside)
        return render.page(request, self.template, typed="", problem=None, next=inside)

    async def log_in(self, request: SomeRequest) -> Response:
        """A session of its own for every log-in: the one that the browser came with ends."""
        logged_out = request.without_session()
        form, browser = await logged_out.form(), request.browser
        try:
            begun = await self._begin(logged_out, form.text(self.field), form.secret("password"), browser)
        except Refusal as refusal:
            return self._log_in_again(logged_out, form, refusal)
        next_ = request.inside(form.text("next"))
        if begun.session_id is not None:
            return await self._logged_in(request, begun.session_id, next_, browser)
        assert begun.pending_token is not None
        response = request.go(f"{request.root}/login/code?next={quote(next_)}")
        self.pending.set(response, begun.pending_token, is_secure=self._is_over_tls(request))
        return response

    async def show_code(self, request: SomeRequest) -> Response:
        """The second page: the password was right."""
        if not await self._waits(request, self._token(request)):
            return request.go(f"{request.root}/login")
        return self._code(request.without_session(), request.inside(request.http.query_params.get("next")))

    async def check_code(self, request: SomeRequest) -> Response:
        logged_out = request.without_session()
        form, browser = await logged_out.form(), request.browser
        next_, typed = request.inside(form.text("next")), TypedCode(form.text("code"), form.text("recovery"))
        try:
            session_id = await self._finish(
                logged_out, self._token(request), typed, browser, is_trusted=form.text("trust") == "yes"
            )
        except PendingLoginOver:
            response = request.go(f"{request.root}/login", "login-over")
            self.pending.end(response)
            return response
        except Refusal as refusal:
            return self._code(logged_out, next_, refusal, is_recovery=bool(typed.recovery_code))
        response = await self._logged_in(request, session_id, next_, browser)
        self.pending.end(response)
        return response

    async def _logged_in(self, request: SomeRequest, session_id: str, next_: str, browser: Browser) -> Response:
        await self._end(request)
        response = request.go(next_)
        signed, is_over_tls = request.parts.accounts.cookies, self._is_over_tls(request)
        self.cookie.set(response, signed.make(session_id), is_secure=is_over_tls)
        request.browser_cookie.set(response, signed.make_browser(browser.next_token or ""), is_secure=is_over_tls)
        return response

    def _token(self, request: SomeRequest) -> str:
        return request.http.cookies.get(self.pending.name, "")

    def _is_over_tls(self, request: SomeRequest) -> bool:
        return is_secure(request.http, request.parts.settings.trusted_proxies)

    def _code(
        self, request: SomeRequest, next_: str, refusal: Refusal | None = None, *, is_recovery: bool = False
    ) -> Response:
        response = render.page(
            request,
            "second_factor/code.html",
            status=_status(refusal) if refusal is not None else HTTPStatus.OK,
            problem=None if refusal is None else form_errors.of_refusal(request.words, refusal),
            is_recovery=is_recovery,
            next=next_,
            lost=request.words(self.lost),
        )
        if isinstance(refusal, TooMany):
            response.headers["Retry-After"] = str(refusal.retry_after_seconds)
        return response

    def _log_in_again(self, request: SomeRequest, form: Form, refusal: Refusal) -> Response:
        response = render.page(
            request,
            self.template,
            status=_status(refusal),
            typed=form.text(self.field),
            problem=form_errors.of_refusal(request.words, refusal),
            next=request.inside(form.text("next")),
        )
        if isinstance(refusal, TooMany):
            response.headers["Retry-After"] = str(refusal.retry_after_seconds)
        return response

    async def log_out(self, request: SomeRequest) -> Response:
        await request.form()
        await self._end(request)
        response = request.go(f"{request.root}/login", "logged-out")
        self.cookie.end(response)
        return response


def _status(refusal: Refusal) -> HTTPStatus:
    return HTTPStatus.TOO_MANY_REQUESTS if isinstance(refusal, TooMany) else HTTPStatus.BAD_REQUEST

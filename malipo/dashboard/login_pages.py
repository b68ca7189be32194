"""Log-in and log-out in a browser: the same on both sites."""

from abc import ABC, abstractmethod
from http import HTTPStatus
from typing import Generic, TypeVar

from starlette.responses import Response

from malipo.client_address import is_secure
from malipo.dashboard import form_errors, render
from malipo.dashboard.browser_request import BrowserRequest
from malipo.dashboard.cookies import SessionCookie
from malipo.dashboard.forms import Form
from malipo.errors import Refusal, TooMany

SomeRequest = TypeVar("SomeRequest", bound=BrowserRequest)


class LoginPages(ABC, Generic[SomeRequest]):
    template: str
    field: str  # the form's name for what people log in with: email or name
    cookie: SessionCookie

    @abstractmethod
    async def _begin(self, request: SomeRequest, name: str, password: str) -> str:
        """The id of a new session."""

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
        form = await logged_out.form()
        try:
            session_id = await self._begin(logged_out, form.text(self.field), form.secret("password"))
        except Refusal as refusal:
            return self._log_in_again(logged_out, form, refusal)
        await self._end(request)
        response = request.go(request.inside(form.text("next")))
        is_over_tls = is_secure(request.http, request.service.settings.trusted_proxies)
        self.cookie.set(response, request.service.cookies.make(session_id), is_secure=is_over_tls)
        return response

    def _log_in_again(self, request: SomeRequest, form: Form, refusal: Refusal) -> Response:
        response = render.page(
            request,
            self.template,
            status=HTTPStatus.TOO_MANY_REQUESTS if isinstance(refusal, TooMany) else HTTPStatus.BAD_REQUEST,
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

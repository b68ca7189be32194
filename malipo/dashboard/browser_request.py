"""One request of a browser: its session, language and form. The CSRF check is in `csrf.py`."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from malipo.dashboard import cookies, csrf, redirects
from malipo.dashboard.forms import Form, read_form
from malipo.dashboard.language import Words
from malipo.service import Service


@dataclass(slots=True)
class BrowserRequest:
    """A user, logged in or not. What they may see is decided by their site."""

    root: ClassVar[str]  # where their pages begin, and as far as their cookies go

    service: Service
    http: Request
    words: Words
    address: str
    notice: str | None = None

    @property
    def session_id(self) -> str | None:
        raise NotImplementedError

    def without_session(self) -> Self:
        """The same request, as if its browser had never logged in."""
        raise NotImplementedError

    @property
    def frame(self) -> dict[str, Any]:
        """What the layout of every page needs: `person`, `business`, and what they `may`."""
        raise NotImplementedError

    @property
    def place(self) -> str:
        """This page, as a link to it."""
        url = self.http.url
        return f"{url.path}?{url.query}" if url.query else url.path

    @property
    def form_token(self) -> str:
        return csrf.token_of(self.service.cookies, self.session_id)

    async def form(self) -> Form:
        """The form's fields, after the CSRF check."""
        form = await read_form(self.http)
        csrf.check_token(self.service.cookies, self.session_id, form.text("token"))
        return form

    def go(self, path: str, notice: str | None = None) -> Response:
        """To another page, so that reloading it does not send the form again; with a sentence to show there."""
        response = RedirectResponse(path, 303)
        if notice is not None:
            cookies.set_notice(response, notice, path=self.root)
        return response

    def inside(self, path: str | None) -> str:
        """Where to go next, if it is one of our own pages (no open redirect)."""
        return redirects.inside(self.root, path)

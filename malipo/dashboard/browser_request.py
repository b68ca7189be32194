"""One request of a browser: its session, language and form. The CSRF check is in `csrf.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Self

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from malipo.accounts import known_browsers
from malipo.accounts.account import AccountOwner
from malipo.accounts.known_browsers import Browser
from malipo.accounts.second_factor.check_code import TypedCode
from malipo.accounts.store.new_place_alerts import Alert
from malipo.dashboard import cookies, csrf, redirects
from malipo.dashboard.cookies import SessionCookie
from malipo.dashboard.forms import Form, read_form
from malipo.dashboard.language import Translator
from malipo.dashboard.parts import PageParts


@dataclass(slots=True)
class BrowserRequest:
    """A user's request, logged in or not. The user's site decides what they may see."""

    root: ClassVar[str]  # where their pages begin, and as far as their cookies go
    browser_cookie: ClassVar[SessionCookie]

    parts: PageParts
    http: Request
    words: Translator
    address: str
    notice: str | None = None
    alerts: Sequence[Alert] = ()
    _form: Form | None = None

    @property
    def session_id(self) -> str | None:
        raise NotImplementedError

    @property
    def person_id(self) -> str | None:
        """The account of the session, by which the sessions of one person are counted."""
        raise NotImplementedError

    @property
    def confirmed_at(self) -> datetime:
        """When the user last typed the password."""
        raise NotImplementedError

    @property
    def last_used_at(self) -> datetime:
        raise NotImplementedError

    @property
    def owner(self) -> AccountOwner:
        """The owner of the second factor."""
        raise NotImplementedError

    @property
    def has_second_factor(self) -> bool:
        raise NotImplementedError

    @property
    def must_enrol(self) -> bool:
        """Whether the user can do nothing before there is a second factor."""
        raise NotImplementedError

    async def confirm(self, password: str, typed: TypedCode) -> None:
        """The user has typed the password again, and a code. Raises a refusal if one of them is not right."""
        raise NotImplementedError

    async def note_use(self) -> None:
        """The session is in use."""
        raise NotImplementedError

    def without_session(self) -> Self:
        """The same request, as if its browser had never logged in."""
        raise NotImplementedError

    @property
    def frame(self) -> dict[str, Any]:
        """The values that the layout of every page needs: `person`, `business`, and what they `may` do."""
        raise NotImplementedError

    @property
    def browser(self) -> Browser:
        """The tokens by which this browser is known now, and will be after a log-in."""
        cookie = self.http.cookies.get(self.browser_cookie.name, "")
        token = self.parts.accounts.cookies.browser_of(cookie)
        return known_browsers.with_next_token(token, self.http.headers.get("user-agent", ""))

    @property
    def place(self) -> str:
        """This page, as a link to it."""
        url = self.http.url
        return f"{url.path}?{url.query}" if url.query else url.path

    @property
    def form_token(self) -> str:
        return csrf.token_of(self.parts.accounts.cookies, self.session_id)

    async def form(self) -> Form:
        """The form's fields, after the CSRF check."""
        if self._form is None:
            form = await read_form(self.http)
            csrf.check_token(self.parts.accounts.cookies, self.session_id, form.text("token"))
            self._form = form
        return self._form

    def keep_form(self, form: Form) -> None:
        """Keep the form, so that the page reads this one."""
        self._form = form

    def go(self, path: str, notice: str | None = None) -> Response:
        """Go to another page, so that reloading it does not send the form again; with a sentence to show there."""
        response = RedirectResponse(path, 303)
        if notice is not None:
            cookies.set_notice(response, notice, path=self.root)
        return response

    def inside(self, path: str | None) -> str:
        """Where to go next, if it is one of our own pages (no open redirect)."""
        return redirects.inside(self.root, path)

"""One request of a browser: its user, language, form fields and CSRF check."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from malipo.dashboard import cookies
from malipo.dashboard.language import Words
from malipo.errors import Forbidden, Invalid
from malipo.service import Service

_MOST_BYTES = 64 * 1024
_MOST_FIELDS = 200


class ForgedForm(Forbidden):
    code = "form_forged"
    sentence = "This form was not sent from here, or you have logged in again since. Try once more."

    def __init__(self) -> None:
        super().__init__(self.sentence)


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
        """What stands around every page of theirs: `person`, `business`, and what they `may`."""
        raise NotImplementedError

    @property
    def place(self) -> str:
        """This page, as a link to it."""
        url = self.http.url
        return f"{url.path}?{url.query}" if url.query else url.path

    @property
    def form_token(self) -> str:
        return self.service.cookies.form_token(self.session_id) if self.session_id is not None else ""

    async def form(self) -> "Form":
        """The form's fields. A form that another site sent in this person's name is refused (CSRF)."""
        body = bytearray()
        async for chunk in self.http.stream():
            body += chunk
            if len(body) > _MOST_BYTES:
                raise Invalid("The form is too large.", code="body_too_large")
        try:
            pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        except ValueError:
            raise Invalid("The form cannot be read.", code="bad_request") from None
        form = Form(pairs)
        if self.session_id is not None and not self.service.cookies.is_form_token(self.session_id, form.text("token")):
            raise ForgedForm
        return form

    def go(self, path: str, notice: str | None = None) -> Response:
        """To another page, so that reloading it does not send the form again; with a sentence to show there."""
        response = RedirectResponse(path, 303)
        if notice is not None:
            cookies.set_notice(response, notice, path=self.root)
        return response

    def inside(self, path: str | None) -> str:
        """Where to go next, if it is one of our own pages (no open redirect)."""
        if path is None or not path.isprintable() or "\\" in path:
            return self.root
        is_ours = path == self.root or path.startswith((f"{self.root}/", f"{self.root}?"))
        return path if is_ours and "//" not in path.partition("?")[0] else self.root


class Form:
    """Fields by name; one that was not filled in is empty."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs

    def text(self, name: str) -> str:
        return next((value.strip() for key, value in self._pairs if key == name), "")

    def secret(self, name: str) -> str:
        """Exactly as it was typed."""
        return next((value for key, value in self._pairs if key == name), "")

    def all(self, name: str) -> list[str]:
        return [value for key, value in self._pairs if key == name]

    def values(self) -> Mapping[str, Any]:
        return {key: value.strip() for key, value in self._pairs if value.strip()}

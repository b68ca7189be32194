"""One request of a person's browser: who they are, which language they read, and what they have filled in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from malipo.dashboard import cookies
from malipo.dashboard.language import Words
from malipo.errors import Forbidden, Invalid
from malipo.merchants.people import Person, Right
from malipo.merchants.store.sessions import Session
from malipo.service import Service
from malipo.trail.store import Actor

_MOST_BYTES = 64 * 1024
_MOST_FIELDS = 200


class ForgedForm(Forbidden):
    code = "form_forged"

    def __init__(self) -> None:
        super().__init__("This form was not sent from here, or you have logged in again since. Try once more.")


@dataclass(slots=True)
class Visit:
    service: Service
    request: Request
    words: Words
    address: str
    session: Session | None = None
    notice: str | None = None
    cookies_to_set: list[tuple[str, str, int]] = field(default_factory=list)

    @property
    def person(self) -> Person:
        assert self.session is not None, "only pages for people who are logged in ask for them"
        return self.session.person

    @property
    def merchant_id(self) -> str:
        return self.person.merchant_id

    @property
    def actor(self) -> Actor:
        return Actor(self.person.email, self.address)

    @property
    def place(self) -> str:
        """This page, as a link to it."""
        url = self.request.url
        return f"{url.path}?{url.query}" if url.query else url.path

    def may(self, right: Right) -> bool:
        return self.person.may(right)

    @property
    def form_token(self) -> str:
        return self.service.cookies.form_token(self.session.id) if self.session is not None else ""

    async def form(self) -> "Form":
        """What was filled in. A form that another site sent in this person's name is refused."""
        body = bytearray()
        async for chunk in self.request.stream():
            body += chunk
            if len(body) > _MOST_BYTES:
                raise Invalid("The form is too large.", code="body_too_large")
        try:
            pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        except ValueError:
            raise Invalid("The form cannot be read.", code="bad_request") from None
        form = Form(pairs)
        if self.session is not None and not self.service.cookies.is_form_token(self.session.id, form.text("token")):
            raise ForgedForm
        return form

    def go(self, path: str, notice: str | None = None) -> Response:
        """To another page, so that reloading it does not send the form again; with a sentence to show there."""
        response = RedirectResponse(path, 303)
        if notice is not None:
            cookies.set_notice(response, notice)
        return response


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

"""Forms: the fields that a browser has sent, and how large a form may be."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from malipo.accounts.second_factor.check_code import TypedCode
from malipo.errors import Invalid
from malipo.http.body_limit import MOST_BODY_BYTES

_MOST_FIELDS = 200
_DIGITS = 6


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

    def without(self, *names: str) -> "Form":
        return Form(self.pairs_without(*names))

    def pairs_without(self, *names: str) -> list[tuple[str, str]]:
        return [(key, value) for key, value in self._pairs if key not in names]

    def values(self) -> Mapping[str, Any]:
        return {key: value.strip() for key, value in self._pairs if value.strip()}


async def read_form(request: Request) -> Form:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BODY_BYTES:
            raise Invalid("The form is too large.", code="body_too_large")
    try:
        return Form(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise Invalid("The form cannot be read.", code="bad_request") from None


def typed_in(text: str) -> TypedCode:
    """Read the field that takes both codes: six digits are a code of the app, anything longer is a recovery code."""
    return TypedCode(recovery_code=text) if sum(each.isalnum() for each in text) > _DIGITS else TypedCode(code=text)

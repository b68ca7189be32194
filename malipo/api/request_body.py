"""The body of a request: how large it may be (413), and its JSON. How long it may take is in `http/connection.py`."""

from typing import Any

import msgspec
from starlette.requests import Request

from malipo.api.errors import TooLarge
from malipo.api.http.protocol import WHOLE_BODY
from malipo.errors import Invalid
from malipo.http.body_limit import MOST_BODY_BYTES


async def object_of(request: Request, *, most_bytes: int = MOST_BODY_BYTES) -> dict[str, Any]:
    """The JSON object that a request carries."""
    return object_in(await body_of(request, most_bytes=most_bytes))


async def optional_object_of(request: Request) -> dict[str, Any]:
    """Read the object of a body as `object_of` does, where no body at all is an object without fields."""
    body = await body_of(request)
    return object_in(body) if body.strip() else {}


def object_in(text: bytes) -> dict[str, Any]:
    try:
        body = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise Invalid("The body is not valid JSON.", code="json_invalid") from None
    if not isinstance(body, dict):
        raise Invalid("The body must be a JSON object.", code="json_invalid")
    return body


async def body_of(request: Request, *, most_bytes: int = MOST_BODY_BYTES) -> bytes:
    whole: bytes | None = request.scope.get(WHOLE_BODY)
    if whole is None:
        return await _wait_for_body(request, most_bytes)
    if len(whole) > most_bytes:
        raise _too_large(most_bytes)
    return whole


async def _wait_for_body(request: Request, most_bytes: int) -> bytes:
    body = bytearray()
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > most_bytes:
        raise _too_large(most_bytes)
    async for chunk in request.stream():
        body += chunk
        if len(body) > most_bytes:
            raise _too_large(most_bytes)
    return bytes(body)


def _too_large(most_bytes: int) -> TooLarge:
    return TooLarge(f"The body must be at most {most_bytes // 1024} KiB.")

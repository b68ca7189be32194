"""A hostile request as bytes, with its expected answer, and helpers to write one down."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.api.raw_http import request
from tests.conftest import COLLECTION

KEY, TOKEN, ENDPOINT = "<the victim's key>", "<the victim's token>", "<the victim's endpoint>"
CREATE, DISBURSE, LIST = "/v1/payments", "/v1/payments/disburse", "/v1/payments"


@dataclass(frozen=True)
class Case:
    sent: bytes
    status: int
    code: str | None = None
    fields: tuple[str, ...] | None = None  # what `details` names; None if there are to be none
    is_head: bool = False


def get(target: str | bytes, status: int, code: str, *fields: str, headers: tuple[bytes, ...] = ()) -> Case:
    return Case(request("GET", target, key=KEY, headers=headers), status, code, fields or None)


def post(
    body: bytes, status: int, code: str, *fields: str, route: str = CREATE, headers: tuple[bytes, ...] = ()
) -> Case:
    return Case(request("POST", route, body, key=KEY, headers=headers), status, code, fields or None)


def encoded(base: dict[str, Any], **changes: Any) -> bytes:
    return json.dumps(base | changes).encode()


def spliced(member: str, base: dict[str, Any] = COLLECTION) -> bytes:
    """A good body with one more member, written as it stands: the last of two equal names counts."""
    return f"{json.dumps(base)[:-1]}, {member}}}".encode()


def short(value: object) -> str:
    """A value in the name of a case."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 30 else f"{text[:30]}… of {len(text)}"


def quoted(value: str) -> str:
    """Only what a request line cannot carry is encoded; everything odd stays as it is."""
    return "".join(f"%{byte:02X}" if byte > 126 else chr(byte) for byte in value.encode())


def grid(*families: Callable[[], Iterator[tuple[str, Case]]]) -> dict[str, Case]:
    """Every case by its name."""
    cases: dict[str, Case] = {}
    for family in families:
        for name, case in family():
            assert name not in cases, f"two cases are called {name!r}"
            cases[name] = case
    return cases

"""A call of the API before it is sent, and how its answer is read. Nothing here does I/O."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

from malipo_client.errors import ConnectionFailed
from malipo_client.records import Created, Record

T = TypeVar("T")
R = TypeVar("R", bound=Record)
C = TypeVar("C", bound=Created)

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_IDEMPOTENCY_KEY = re.compile(r"[!-~]{1,255}")


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]  # Names in small letters.
    body: bytes


class Page(Generic[T]):
    """A part of a list, and the request for the next part, if there is one."""

    def __init__(self, items: list[T], following: Request[Page[T]] | None) -> None:
        self.items = items
        self.following = following


class Request(Generic[T]):
    """All but the address of the service and the API key. It is made once, and sent as often as it takes."""

    __slots__ = (
        "body",
        "idempotency_key",
        "ids",
        "is_repeatable",
        "method",
        "path",
        "pause_seconds",
        "query",
        "read",
        "wait_seconds",
    )

    def __init__(
        self,
        method: str,
        path: str,
        read: Callable[[Answer], T],
        *,
        ids: Mapping[str, str] | None = None,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, object] | None = None,
        idempotency_key: str | None = None,
        is_repeatable: bool = True,
        wait_seconds: int = 0,
        pause_seconds: float = 0.0,
    ) -> None:
        for name, value in (ids or {}).items():
            if not _ID.fullmatch(value):
                raise ValueError(f"{name} must be an id of the service, and not {value!r}.")
        if idempotency_key is not None and not _IDEMPOTENCY_KEY.fullmatch(idempotency_key):
            raise ValueError("idempotency_key must be 1 to 255 visible ASCII characters.")
        self.method = method
        self.path = path
        self.read = read
        self.ids = ids or {}
        self.query = _given(query or {})
        self.body = None if body is None else _given(body)
        self.idempotency_key = idempotency_key
        self.is_repeatable = is_repeatable  # Whether the service does it once, however often it is sent.
        self.wait_seconds = wait_seconds  # How long the service may hold its answer.
        self.pause_seconds = pause_seconds  # How long to wait before it is sent.

    @property
    def target(self) -> str:
        path = self.path.format(**self.ids)
        return f"{path}?{urlencode(self.query)}" if self.query else path

    @property
    def payload(self) -> bytes:
        return b"" if self.body is None else json.dumps(self.body, separators=(",", ":")).encode()


def _given(fields: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def new_idempotency_key() -> str:
    return os.urandom(16).hex()


def one(kind: type[R], key: str) -> Callable[[Answer], R]:
    return lambda answer: kind(_field(answer, key, dict))


def created(kind: type[C], key: str) -> Callable[[Answer], C]:
    def read(answer: Answer) -> C:
        is_replay = answer.headers.get("idempotency-replayed") == "true"
        fields = _field(answer, key, dict)
        # A service older than this client does not tell the status of now.
        told = answer.headers.get("idempotency-replayed-status", fields.get("status"))
        return kind(fields, told if is_replay else None)

    return read


def many(kind: type[R], key: str) -> Callable[[Answer], list[R]]:
    return lambda answer: [kind(each) for each in _field(answer, key, list)]


def whole(kind: type[R]) -> Callable[[Answer], R]:
    return lambda answer: kind(document(answer))


def number(key: str) -> Callable[[Answer], int]:
    return lambda answer: int(_field(answer, key, int))


def text(answer: Answer) -> str:
    return answer.body.decode()


def nothing(answer: Answer) -> None:
    """It was done, and there is nothing to tell."""


def document(answer: Answer) -> dict[str, Any]:
    try:
        told = json.loads(answer.body)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        # Something between us and the service has answered in its place: that says nothing about what was done.
        raise ConnectionFailed(f"HTTP {answer.status}, but this is no answer of malipo.", was_sent=True)
    return told


def _field(answer: Answer, key: str, kind: type) -> Any:
    value = document(answer).get(key)
    if not isinstance(value, kind):
        raise ConnectionFailed(f"HTTP {answer.status}, but this is no answer of malipo: no {key!r}.", was_sent=True)
    return value

"""A request frees what it took as soon as it is answered.

What is left to Python's collector of cycles is found by stopping everything for as long as it takes to look: at full load
that was 45 ms, several times a second, and everybody's slowest answers.
"""

import gc
from typing import Any

from malipo.api.app import App
from malipo.db import Database
from malipo.service import Service
from tests.conftest import make_merchant

_BODY = b'{"amount":5000,"channel":"MPESA","buyerPhone":"+255712345678"}'
_REQUESTS = 50
_ROUNDS = 3


async def test_a_request_leaves_nothing_to_the_collector_of_cycles(database: Database, service: Service) -> None:
    merchant = await make_merchant(database)
    app = App(service)
    await _collect(app, merchant.key)  # What is made once is no garbage.
    gc.disable()
    try:
        left = [await _left_by_requests(app, merchant.key) for _ in range(_ROUNDS)]
    finally:
        gc.enable()
    # What a request leaves, it leaves each time. A cycle of something else, such as an earlier test's, is left once.
    assert min(left) < _REQUESTS


async def _left_by_requests(app: App, key: str) -> int:
    gc.collect()
    answers = [await _collect(app, key) for _ in range(_REQUESTS)]
    assert answers == [201] * _REQUESTS
    return gc.collect()


async def _collect(app: App, key: str) -> int:
    said: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": _BODY, "more_body": False}

    async def send(message: Any) -> None:
        said.append(message)

    headers = [(b"x-api-key", key.encode()), (b"content-type", b"application/json")]
    scope = {
        "type": "http",
        "scheme": "http",
        "method": "POST",
        "path": "/v1/payments",
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 1),
    }
    await app(scope, receive, send)
    return int(said[0]["status"])

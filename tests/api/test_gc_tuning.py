"""A request frees what it took as soon as it is answered.

What is left to Python's collector of cycles is found by stopping everything for as long as it takes to look: at full load
that was 45 ms, several times a second, and everybody's slowest answers.
"""

import asyncio
import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

from malipo.api.app import App
from malipo.app.assemble import assemble
from malipo.db import Database
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, make_merchant

_BODY = b'{"amount":5000,"channel":"MPESA","buyerPhone":"+255712345678"}'
_REQUESTS = 50
_ROUNDS = 3


async def test_a_request_leaves_nothing_to_the_collector_of_cycles(database: Database, database_url: str) -> None:
    """In a process of its own: what other tests have switched on, or left behind, is not the request's."""
    merchant = await make_merchant(database)
    command = [sys.executable, "-m", "tests.api.test_gc_tuning", database_url, merchant.key]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # What a request leaves, it leaves each time. A cycle of something else is left once.
    assert min(map(int, done.stdout.split())) < _REQUESTS


async def _main(url: str, key: str) -> None:
    async with Database.opened(url, size=20) as database:
        service = assemble(Settings(**NO_LIMITS), database)
        app = App(service)
        await _collect(app, key)  # What is made once is no garbage.
        gc.disable()
        print(*[await _left_by_requests(app, key) for _ in range(_ROUNDS)])
        await service.finish()


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


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))

"""/readyz shows everybody that nothing is sent, and only operators the reason."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from starlette.requests import Request

from malipo import clock
from malipo.api.health import readyz
from malipo.api.parts import ApiParts
from malipo.app.assemble import Service, assemble
from malipo.db import Database
from malipo.restore import hold
from malipo.settings import Settings
from tests.conftest import NOBODY

TOKEN = "a-token-for-prometheus-0123456789"
REASON = "Juma of Duka la Asha is being looked at"


async def _hold(service: Service) -> None:
    async with service.queries.database.begin() as tx:
        await hold.hold(tx, [], REASON, actor=NOBODY, now=clock.now())


async def _fence(service: Service) -> None:
    await service.fence(REASON, epoch=1)


def _request(peer: str, **headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "path": "/readyz", "headers": raw, "client": (peer, 1)})


@pytest.mark.parametrize(
    ("close", "word"),
    [(_hold, "Operators hold all payments."), (_fence, "Restored from a backup, and not released.")],
)
async def test_the_reason_of_a_hold_or_fence_is_for_this_machine_or_whoever_has_the_token(
    database: Database, close: Callable[[Service], Awaitable[None]], word: str
) -> None:
    service = assemble(replace(Settings(), metrics_token=TOKEN), database)
    await close(service)

    async def said(request: Request) -> str:
        answer = await readyz(ApiParts.of(service), request)
        assert (answer.status_code, answer.headers["x-error-code"]) == (503, "not_ready")
        return str(json.loads(bytes(answer.body))["error"])

    assert await said(_request("196.41.7.9")) == word
    assert await said(_request("196.41.7.9", authorization="Bearer guessed")) == word
    assert await said(_request("127.0.0.1", x_forwarded_for="196.41.7.9")) == word, "behind a proxy of this machine"
    for allowed in (_request("127.0.0.1"), _request("196.41.7.9", authorization=f"Bearer {TOKEN}")):
        assert await said(allowed) == f"{word} {REASON}"
    await service.finish()

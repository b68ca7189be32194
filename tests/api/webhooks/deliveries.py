"""A worker that delivers, and waiting until something was delivered."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from malipo.app.assemble import Service
from tests.api.conftest import Desk
from tests.journeys.full_stack import until


@pytest.fixture
async def worker(desk: Desk) -> AsyncIterator[Service]:
    async with desk.gate.webhook_stack.a_worker() as worker:
        yield worker


async def try_out(desk: Desk, url: str) -> dict[str, Any]:
    """What comes of a test of a new endpoint."""
    endpoint = await desk.register(url)
    answer = await desk("POST", f"/{endpoint['id']}/test")
    assert (answer.status, set(answer.body)) == (200, {"success", "delivery"})
    delivery: dict[str, Any] = answer.body["delivery"]
    return delivery


async def until_there_are(desk: Desk, id_: str, number: int, state: str) -> list[dict[str, Any]]:
    async def find() -> list[dict[str, Any]] | None:
        found = await desk.deliveries(id_, f"?state={state}&limit=100")
        return found if len(found) >= number else None

    found: list[dict[str, Any]] = await until(find, pause=0.02, what=f"{number} × {state}")
    assert len(found) == number
    return found

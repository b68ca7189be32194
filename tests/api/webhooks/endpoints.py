"""The bodies and the shapes of webhook endpoints, and merchants who register them strictly or for local work."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.api.conftest import Desk
from tests.conftest import Answer, create_database
from tests.journeys.in_process_api import InProcessApi, in_process_api
from tests.journeys.webhook_stack import webhook_stack

URL = "https://shop.example.com/hooks/malipo"
PUBLIC = "https://41.59.1.20/"  # No name, so that none has to be looked up.
NEW = {"url": URL, "events": ["payment.completed", "payment.failed"]}
REGISTERED = {"id", "url", "events", "isActive"}
SHOWN = REGISTERED | {"createdAt"}
SECRET = re.compile(r"whsec_[A-Za-z0-9+/]{43}=")


@pytest.fixture(scope="module")
async def strict(postgres: str, template: str) -> AsyncIterator[InProcessApi]:
    """The API as it is on the internet."""
    own = await create_database(postgres, template)
    async with webhook_stack(own, webhook_allow_private="false") as here, in_process_api(here) as gate:
        yield gate


@dataclass(frozen=True)
class Regular:
    """A merchant with an endpoint, to whom everything is refused here."""

    desk: Desk
    id: str

    async def refusals(self, change: dict[str, Any]) -> list[Answer]:
        """The answers to somebody who would register another one like this, and who would change this one."""
        new = {"url": PUBLIC, "events": ["payment.failed"]}
        answers = [await self.desk("POST", "", new | change), await self.desk("PATCH", f"/{self.id}", change)]
        (kept,) = (await self.desk("GET")).body["endpoints"]
        assert (kept["id"], kept["url"], kept["events"]) == (self.id, PUBLIC, ["payment.completed"])
        return answers


async def a_regular(gate: InProcessApi) -> Regular:
    desk = Desk(gate, await gate.webhook_stack.merchant())
    return Regular(desk, (await desk.register(PUBLIC, "payment.completed"))["id"])


@pytest.fixture(scope="module")
async def here(gate: InProcessApi) -> Regular:
    return await a_regular(gate)


@pytest.fixture(scope="module")
async def outside(strict: InProcessApi) -> Regular:
    return await a_regular(strict)

"""A town whose way to M-Pesa can be barred, and what became of its payments."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.conftest import create_database
from tests.journeys import database_facts
from tests.journeys.full_stack import Elsewhere, FullStack, Home, full_stack_started, until
from tests.journeys.network_proxy import NetworkProxy, a_network_proxy
from tests.journeys.worker_stack import WorkerStack

# A payment that could not be sent is tried again so soon after; and a circuit opens at so many faults in a row.
FAULTS = 5
_phones = iter(range(100_000, 999_999))


@pytest.fixture(scope="module")
async def full_stack(
    postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FullStack]:
    url = await create_database(postgres, template)
    async with full_stack_started(tmp_path_factory.mktemp("town"), url, speed=20) as full_stack:
        yield full_stack
        await database_facts.assert_clean(full_stack.database)


@pytest.fixture
async def road(full_stack: FullStack) -> AsyncIterator[NetworkProxy]:
    """The way to M-Pesa, for workers who take it."""
    await forget_that_it_is_down(full_stack)
    assert full_stack.settings.mpesa_base_url is not None
    async with a_network_proxy(full_stack.settings.mpesa_base_url) as road:
        yield road


def by_road(road: NetworkProxy, full_stack: FullStack, **settings: Any) -> Home:
    """A worker's home from which M-Pesa is at the end of this road, and whose patience is a second."""
    hasty = {"mpesa_timeout_seconds": 1} | settings
    return Elsewhere(full_stack.database_url, replace(full_stack.settings, mpesa_base_url=road.url, **hasty))


def new_phone(channel: str) -> str:
    number = next(number for number in _phones if not 100 <= number % 1000 <= 113)
    return ("+255754" if channel == "MPESA" else "+255684") + str(number)


async def take_payments(full_stack: FullStack | WorkerStack, channel: str, type_: str, number: int = 1) -> list[str]:
    return [await full_stack.take(channel, type_, new_phone(channel)) for _ in range(number)]


async def rows_of(full_stack: FullStack, ids: list[str]) -> dict[str, dict[str, Any]]:
    async with full_stack.database.read() as connection:
        rows = await connection.fetch(
            """
            SELECT t.id, t.status, t.failure_code, t.network_key, t.processing_at, t.phone,
                   d.next_action, d.send_count, d.connector,
                   (SELECT count(*) FROM network_answers h WHERE h.transaction_id = t.id) AS heard
            FROM transactions t LEFT JOIN dispatches d ON d.transaction_id = t.id WHERE t.id = ANY($1)
            """,
            ids,
        )
    found = {row["id"]: dict(row) for row in rows}
    return {id_: found[id_] for id_ in ids}


async def until_rows(full_stack: FullStack, ids: list[str], *, seconds: float = 90, **expected: Any) -> None:
    async def are_so() -> bool:
        rows = (await rows_of(full_stack, ids)).values()
        return all(row[name] == value for row in rows for name, value in expected.items())

    await until(are_so, seconds=seconds, pause=0.05, what=f"{expected} of {len(ids)}")


async def channels_up(full_stack: FullStack) -> dict[str, bool]:
    answer = await full_stack.api("GET", "/v1/channels")
    return {each["channel"]: each["isUp"] for each in answer.body["channels"]}


async def until_up(full_stack: FullStack, is_up: bool) -> None:
    async def is_so() -> bool:
        return (await channels_up(full_stack))["MPESA"] is is_up

    await until(is_so, pause=0.05, what=f"M-Pesa {'up' if is_up else 'down'}")


async def requests_for(full_stack: FullStack, ids: list[str]) -> list[int]:
    """How often the network was asked to move money, for each of these."""
    seen = await full_stack.sim("GET", "/api/seen?limit=2000")
    bodies = [each["body"] for each in seen if each["direction"] == "in" and each["method"] == "POST"]
    return [sum(row["network_key"] in body for body in bodies) for row in (await rows_of(full_stack, ids)).values()]


async def moved_for(full_stack: FullStack, ids: list[str]) -> list[int]:
    """How often money moved at the phone of each."""
    book = await full_stack.moved()
    return [len(book.get(row["phone"], [])) for row in (await rows_of(full_stack, ids)).values()]


async def forget_that_it_is_down(full_stack: FullStack) -> None:
    """As if somebody else had found out that it is back: the next knock of ours is far away."""
    async with full_stack.database.begin() as tx:
        await tx.execute("DELETE FROM open_circuits")

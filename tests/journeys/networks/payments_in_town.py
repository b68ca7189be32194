"""A town whose way to M-Pesa can be barred, and what became of its payments."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from tests.conftest import create_database
from tests.journeys import witness
from tests.journeys.hamlet import Hamlet
from tests.journeys.road import Road, a_road
from tests.journeys.town import Elsewhere, Home, Town, founded, until

# A payment that could not be sent is tried again so soon after; and a circuit opens at so many faults in a row.
FAULTS = 5
_phones = iter(range(100_000, 999_999))


@pytest.fixture(scope="module")
async def town(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    url = await create_database(postgres, template)
    async with founded(tmp_path_factory.mktemp("town"), url, speed=20) as town:
        yield town
        await witness.assert_clean(town.database)


@pytest.fixture
async def road(town: Town) -> AsyncIterator[Road]:
    """The way to M-Pesa, for workers who take it."""
    await forget_that_it_is_down(town)
    assert town.settings.mpesa_base_url is not None
    async with a_road(town.settings.mpesa_base_url) as road:
        yield road


def by_road(road: Road, town: Town, **settings: Any) -> Home:
    """A worker's home from which M-Pesa is at the end of this road, and whose patience is a second."""
    hasty = {"mpesa_timeout_seconds": 1} | settings
    return Elsewhere(town.database_url, replace(town.settings, mpesa_base_url=road.url, **hasty))


def new_phone(channel: str) -> str:
    number = next(number for number in _phones if not 100 <= number % 1000 <= 112)
    return ("+255754" if channel == "MPESA" else "+255684") + str(number)


async def take_payments(town: Town | Hamlet, channel: str, type_: str, number: int = 1) -> list[str]:
    return [await town.take(channel, type_, new_phone(channel)) for _ in range(number)]


async def rows_of(town: Town, ids: list[str]) -> dict[str, dict[str, Any]]:
    async with town.database.read() as connection:
        rows = await connection.fetch(
            """
            SELECT t.id, t.status, t.failure_code, t.network_key, t.processing_at, t.phone,
                   d.next_act, d.sends, d.route,
                   (SELECT count(*) FROM hearings h WHERE h.transaction_id = t.id) AS heard
            FROM transactions t LEFT JOIN dispatches d ON d.transaction_id = t.id WHERE t.id = ANY($1)
            """,
            ids,
        )
    found = {row["id"]: dict(row) for row in rows}
    return {id_: found[id_] for id_ in ids}


async def until_rows(town: Town, ids: list[str], *, seconds: float = 20, **expected: Any) -> None:
    async def are_so() -> bool:
        rows = (await rows_of(town, ids)).values()
        return all(row[name] == value for row in rows for name, value in expected.items())

    await until(are_so, seconds=seconds, pause=0.05, what=f"{expected} of {len(ids)}")


async def channels_up(town: Town) -> dict[str, bool]:
    answer = await town.api("GET", "/v1/channels")
    return {each["channel"]: each["isUp"] for each in answer.body["channels"]}


async def until_up(town: Town, is_up: bool) -> None:
    async def is_so() -> bool:
        return (await channels_up(town))["MPESA"] is is_up

    await until(is_so, pause=0.05, what=f"M-Pesa {'up' if is_up else 'down'}")


async def requests_for(town: Town, ids: list[str]) -> list[int]:
    """How often the network was asked to move money, for each of these."""
    seen = await town.sim("GET", "/api/seen?limit=2000")
    bodies = [each["body"] for each in seen if each["direction"] == "in" and each["method"] == "POST"]
    return [sum(row["network_key"] in body for body in bodies) for row in (await rows_of(town, ids)).values()]


async def moved_for(town: Town, ids: list[str]) -> list[int]:
    """How often money moved at the phone of each."""
    book = await town.moved()
    return [len(book.get(row["phone"], [])) for row in (await rows_of(town, ids)).values()]


async def forget_that_it_is_down(town: Town) -> None:
    """As if somebody else had found out that it is back: the next knock of ours is far away."""
    async with town.database.begin() as tx:
        await tx.execute("DELETE FROM circuits")

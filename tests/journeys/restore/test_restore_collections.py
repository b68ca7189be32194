"""A collection that was approved in the lost time, and is asked for again after the release: nobody is charged twice."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys import witness
from tests.journeys.drill import forget_keys
from tests.journeys.restored import a_host, appoint, back_up, bring_back, pay, release, until_fenced
from tests.journeys.town import Town, founded, until

# The last three digits: a phone that waits for a person.
PHONES = {"MPESA": "+255754000100", "AIRTEL_MONEY": "+255684000100", "TIGO_PESA": "+255714000100"}


@pytest.fixture
async def town(tmp_path: Path, database_url: str) -> AsyncIterator[Town]:
    async with founded(tmp_path, database_url) as town, a_host(town, tmp_path / "state"):
        await appoint(town)
        yield town


async def _prompts(town: Town, phone: str) -> list[dict[str, Any]]:
    return [each for each in await town.sim("GET", "/api/prompts") if each["phone"] == phone]


async def _ask(town: Town, channel: str, key: str) -> str:
    answer = await pay(town, channel, PHONES[channel], key, type_="COLLECTION")
    assert answer.status == 201, answer.body
    return str(answer.body["transaction"]["id"])


async def _approve(town: Town, phone: str) -> None:
    async def waits() -> list[dict[str, Any]]:
        return [each for each in await _prompts(town, phone) if each["state"] == "waiting"]

    [prompt] = await until(waits, what="the prompt")
    await town.sim("POST", f"/api/prompts/{prompt['id']}", {"action": "approve", "pin": "1234"})


async def _until_completed(town: Town, id_: str) -> None:
    async def is_so() -> bool:
        return bool((await town.shown(id_))["status"] == "COMPLETED")

    await until(is_so, what="the collection")


async def _restored(town: Town, channel: str) -> None:
    """A collection was approved, and is forgotten: by the database, and as a duplicate by its network."""
    backup = await back_up(town.database_url)
    made = await _ask(town, channel, "order-1")
    await _approve(town, PHONES[channel])
    await _until_completed(town, made)
    await forget_keys(town)
    await bring_back(town.database_url, backup)
    await until_fenced(town)
    await release(town)


@pytest.mark.parametrize("channel", PHONES)
async def test_a_customer_who_paid_in_the_lost_time_is_not_prompted_again(town: Town, channel: str) -> None:
    await _restored(town, channel)
    again = await _ask(town, channel, "order-1")
    await _until_completed(town, again)
    assert len(await _prompts(town, PHONES[channel])) == 1
    assert [each["amount"] for each in (await town.moved())[PHONES[channel]]] == [1000]
    await witness.assert_clean(town.database)


async def test_a_new_collection_is_prompted_for_when_its_network_does_not_know_it(town: Town) -> None:
    await _restored(town, "AIRTEL_MONEY")
    new = await _ask(town, "AIRTEL_MONEY", "order-2")
    await _approve(town, PHONES["AIRTEL_MONEY"])
    await _until_completed(town, new)
    assert len(await _prompts(town, PHONES["AIRTEL_MONEY"])) == 2
    await witness.assert_clean(town.database)

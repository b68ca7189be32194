"""A collection that was approved in the lost time and is requested again after the release: no customer is charged
twice."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys import database_facts
from tests.journeys.full_stack import FullStack, full_stack_started, until
from tests.journeys.restore_drill import forget_keys
from tests.journeys.restored_stack import a_host, appoint, back_up, bring_back, pay, release, until_fenced

# The last three digits: a phone that waits for a person.
PHONES = {"MPESA": "+255754000100", "AIRTEL_MONEY": "+255684000100", "TIGO_PESA": "+255714000100"}


@pytest.fixture
async def full_stack(tmp_path: Path, database_url: str) -> AsyncIterator[FullStack]:
    async with full_stack_started(tmp_path, database_url) as full_stack, a_host(full_stack, tmp_path / "state"):
        await appoint(full_stack)
        yield full_stack


async def _prompts(full_stack: FullStack, phone: str) -> list[dict[str, Any]]:
    return [each for each in await full_stack.sim("GET", "/api/prompts") if each["phone"] == phone]


async def _ask(full_stack: FullStack, channel: str, key: str) -> str:
    answer = await pay(full_stack, channel, PHONES[channel], key, type_="COLLECTION")
    assert answer.status == 201, answer.body
    return str(answer.body["transaction"]["id"])


async def _approve(full_stack: FullStack, phone: str) -> None:
    async def waits() -> list[dict[str, Any]]:
        return [each for each in await _prompts(full_stack, phone) if each["state"] == "waiting"]

    [prompt] = await until(waits, what="the prompt")
    await full_stack.sim("POST", f"/api/prompts/{prompt['id']}", {"action": "approve", "pin": "1234"})


async def _until_completed(full_stack: FullStack, id_: str) -> None:
    async def is_so() -> bool:
        return bool((await full_stack.shown(id_))["status"] == "COMPLETED")

    await until(is_so, what="the collection")


async def _restored(full_stack: FullStack, channel: str) -> None:
    """A collection was approved, and is forgotten: by the database, and as a duplicate by its network."""
    backup = await back_up(full_stack.database_url)
    made = await _ask(full_stack, channel, "order-1")
    await _approve(full_stack, PHONES[channel])
    await _until_completed(full_stack, made)
    await forget_keys(full_stack)
    await bring_back(full_stack.database_url, backup)
    await until_fenced(full_stack)
    await release(full_stack)


@pytest.mark.parametrize("channel", PHONES)
async def test_a_customer_who_paid_in_the_lost_time_is_not_prompted_again(full_stack: FullStack, channel: str) -> None:
    await _restored(full_stack, channel)
    again = await _ask(full_stack, channel, "order-1")
    await _until_completed(full_stack, again)
    assert len(await _prompts(full_stack, PHONES[channel])) == 1
    assert [each["amount"] for each in (await full_stack.moved())[PHONES[channel]]] == [1000]
    await database_facts.assert_clean(full_stack.database)


async def test_a_new_collection_is_prompted_for_when_its_network_does_not_know_it(full_stack: FullStack) -> None:
    await _restored(full_stack, "AIRTEL_MONEY")
    new = await _ask(full_stack, "AIRTEL_MONEY", "order-2")
    await _approve(full_stack, PHONES["AIRTEL_MONEY"])
    await _until_completed(full_stack, new)
    assert len(await _prompts(full_stack, PHONES["AIRTEL_MONEY"])) == 2
    await database_facts.assert_clean(full_stack.database)

"""Operators hold payments: nothing of what is held is sent, and everything goes once when it is released."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.journeys import database_facts
from tests.journeys.full_stack import FullStack, full_stack_started, until
from tests.journeys.restored_stack import a_host, appoint, operate, pay, statuses, until_looked_again


@pytest.fixture
async def full_stack(tmp_path: Path, database_url: str) -> AsyncIterator[FullStack]:
    async with full_stack_started(tmp_path, database_url) as full_stack, a_host(full_stack, tmp_path / "state"):
        await appoint(full_stack, ["asha"])
        yield full_stack


async def _hold(full_stack: FullStack, *scope: str) -> None:
    said = await operate(full_stack, "asha", "hold", "--reason", "The float is being counted", *scope)
    assert said.code == 0, said.err


async def _release(full_stack: FullStack, *scope: str) -> None:
    said = await operate(full_stack, "asha", "hold", "--release", *scope)
    assert said.code == 0, said.err


async def _until_moved(full_stack: FullStack, *phones: str) -> None:
    async def have_moved() -> bool:
        book, found = await full_stack.moved(), await statuses(full_stack)
        return all(phone in book and found[phone] == "COMPLETED" for phone in phones)

    await until(have_moved, what=f"the payments of {phones}")


async def test_while_everything_is_held_nothing_is_taken_in_or_sent_and_the_rest_goes_on(full_stack: FullStack) -> None:
    waits = "+255754000200"
    await _hold(full_stack, "--channel", "MPESA", "--only", "payouts")
    made = await pay(full_stack, "MPESA", waits, "order-1")
    await _hold(full_stack)
    await _release(full_stack, "--channel", "MPESA", "--only", "payouts")
    refused = await pay(full_stack, "AIRTEL_MONEY", "+255684000200", "order-2")
    assert (refused.status, refused.code) == (503, "on_hold")
    assert (await full_stack.api("GET", "/readyz")).status == 503
    assert (await full_stack.shown(made.body["transaction"]["id"]))["status"] == "PENDING"
    await until_looked_again(full_stack)
    assert await full_stack.moved() == {}
    await _release(full_stack)
    assert (await full_stack.api("GET", "/readyz")).status == 200
    assert (await pay(full_stack, "AIRTEL_MONEY", "+255684000200", "order-2")).status == 201
    await _until_moved(full_stack, waits, "+255684000200")
    assert {phone: len(moved) for phone, moved in (await full_stack.moved()).items()} == {waits: 1, "+255684000200": 1}
    await database_facts.assert_clean(full_stack.database)


async def test_a_channel_that_is_held_takes_payments_in_and_sends_none_of_that_kind(full_stack: FullStack) -> None:
    await _hold(full_stack, "--channel", "AIRTEL_MONEY", "--only", "payouts")
    for number in range(200, 205):
        assert (await pay(full_stack, "AIRTEL_MONEY", f"+255684000{number}", f"order-{number}")).status == 201
    collection = await pay(full_stack, "AIRTEL_MONEY", "+255684000300", "order-300", type_="COLLECTION")
    other = await pay(full_stack, "MPESA", "+255754000200", "order-400")
    assert (collection.status, other.status) == (201, 201)
    await _until_moved(full_stack, "+255684000300", "+255754000200")
    await until_looked_again(full_stack)
    assert set(await full_stack.moved()) == {"+255684000300", "+255754000200"}
    assert (await full_stack.api("GET", "/readyz")).status == 200
    await _release(full_stack, "--channel", "AIRTEL_MONEY", "--only", "payouts")
    held = [f"+255684000{number}" for number in range(200, 205)]
    await _until_moved(full_stack, *held)
    assert all(len(moved) == 1 for moved in (await full_stack.moved()).values())
    await database_facts.assert_clean(full_stack.database)


async def test_a_hold_needs_somebody_with_a_name_and_a_reason(full_stack: FullStack) -> None:
    assert (await operate(full_stack, None, "hold", "--reason", "The float is being counted")).code == 2
    assert (await operate(full_stack, "asha", "hold")).code == 2
    assert (await operate(full_stack, "asha", "hold", "--release")).code == 2, "nothing is held"

"""Operators hold payments: nothing of what is held is sent, and everything goes once when it is released."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.journeys import witness
from tests.journeys.restored import a_host, appoint, operate, pay, statuses
from tests.journeys.town import Town, founded, until

_LOOKS = 3.0  # as long as a worker takes to look three times, whether a bell has rung or not


@pytest.fixture
async def town(tmp_path: Path, database_url: str) -> AsyncIterator[Town]:
    async with founded(tmp_path, database_url) as town, a_host(town, tmp_path / "state"):
        await appoint(town, ["asha"])
        yield town


async def _hold(town: Town, *scope: str) -> None:
    said = await operate(town, "asha", "hold", "--reason", "The float is being counted", *scope)
    assert said.code == 0, said.err


async def _release(town: Town, *scope: str) -> None:
    said = await operate(town, "asha", "hold", "--release", *scope)
    assert said.code == 0, said.err


async def _until_moved(town: Town, *phones: str) -> None:
    async def have_moved() -> bool:
        book, found = await town.moved(), await statuses(town)
        return all(phone in book and found[phone] == "COMPLETED" for phone in phones)

    await until(have_moved, what=f"the payments of {phones}")


async def test_while_everything_is_held_nothing_is_taken_in_or_sent_and_the_rest_goes_on(town: Town) -> None:
    waits = "+255754000200"
    await _hold(town, "--channel", "MPESA", "--only", "payouts")
    made = await pay(town, "MPESA", waits, "order-1")
    await _hold(town)
    await _release(town, "--channel", "MPESA", "--only", "payouts")
    refused = await pay(town, "AIRTEL_MONEY", "+255684000200", "order-2")
    assert (refused.status, refused.code) == (503, "on_hold")
    assert (await town.api("GET", "/readyz")).status == 503
    assert (await town.shown(made.body["transaction"]["id"]))["status"] == "PENDING"
    await asyncio.sleep(_LOOKS)
    assert await town.moved() == {}
    await _release(town)
    assert (await town.api("GET", "/readyz")).status == 200
    assert (await pay(town, "AIRTEL_MONEY", "+255684000200", "order-2")).status == 201
    await _until_moved(town, waits, "+255684000200")
    assert {phone: len(moved) for phone, moved in (await town.moved()).items()} == {waits: 1, "+255684000200": 1}
    await witness.assert_clean(town.database)


async def test_a_channel_that_is_held_takes_payments_in_and_sends_none_of_that_kind(town: Town) -> None:
    await _hold(town, "--channel", "AIRTEL_MONEY", "--only", "payouts")
    for number in range(200, 205):
        assert (await pay(town, "AIRTEL_MONEY", f"+255684000{number}", f"order-{number}")).status == 201
    collection = await pay(town, "AIRTEL_MONEY", "+255684000300", "order-300", type_="COLLECTION")
    other = await pay(town, "MPESA", "+255754000200", "order-400")
    assert (collection.status, other.status) == (201, 201)
    await _until_moved(town, "+255684000300", "+255754000200")
    await asyncio.sleep(_LOOKS)
    assert set(await town.moved()) == {"+255684000300", "+255754000200"}
    assert (await town.api("GET", "/readyz")).status == 200
    await _release(town, "--channel", "AIRTEL_MONEY", "--only", "payouts")
    held = [f"+255684000{number}" for number in range(200, 205)]
    await _until_moved(town, *held)
    assert all(len(moved) == 1 for moved in (await town.moved()).values())
    await witness.assert_clean(town.database)


async def test_a_hold_needs_somebody_with_a_name_and_a_reason(town: Town) -> None:
    assert (await operate(town, None, "hold", "--reason", "The float is being counted")).code == 2
    assert (await operate(town, "asha", "hold")).code == 2
    assert (await operate(town, "asha", "hold", "--release")).code == 2, "nothing is held"

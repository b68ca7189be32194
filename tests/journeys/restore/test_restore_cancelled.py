"""A payout that its merchant cancelled in the lost time: it is PENDING again, and must not be sent by the release."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.journeys import witness
from tests.journeys.restored import (
    a_host,
    appoint,
    back_up,
    bring_back,
    operate,
    pay,
    release,
    statuses,
    until_fenced,
)
from tests.journeys.town import Town, founded, until

CANCELLED, PAID = "+255684000200", "+255684000201"
SCOPE = ("--channel", "AIRTEL_MONEY", "--only", "payouts")
_LOOKS = 3.0  # as long as a worker takes to look three times


@pytest.fixture
async def town(tmp_path: Path, database_url: str) -> AsyncIterator[Town]:
    async with founded(tmp_path, database_url) as town:
        await appoint(town)
        yield town


async def _until(town: Town, phone: str, status: str) -> None:
    async def is_so() -> bool:
        return (await statuses(town)).get(phone) == status

    await until(is_so, what=f"{status} of {phone}")


async def _is_asked_about(town: Town) -> bool:
    async with town.database.read() as connection:
        return not await connection.fetchval("SELECT bool_or(is_asked_first) FROM dispatches")


async def test_it_is_cancelled_again_behind_a_hold_and_nobody_is_paid(town: Town, tmp_path: Path) -> None:
    async with a_host(town, tmp_path / "state"):
        pass  # From here on the host has a mark.
    made = await pay(town, "AIRTEL_MONEY", CANCELLED, "order-1")
    path = f"/v1/payments/{made.body['transaction']['id']}/cancel"
    backup = await back_up(town.database_url)
    assert (await town.api("POST", path)).status == 200
    async with a_host(town, tmp_path / "state"):
        await pay(town, "AIRTEL_MONEY", PAID, "order-2")
        await _until(town, PAID, "COMPLETED")
    await bring_back(town.database_url, backup)
    assert await statuses(town) == {CANCELLED: "PENDING"}

    async with a_host(town, tmp_path / "state"):
        await until_fenced(town)
        held = await operate(town, "asha", "hold", *SCOPE, "--reason", "Merchants repeat their cancellations")
        assert held.code == 0, held.err
        refused = await town.api("POST", path)
        assert (refused.status, refused.code) == (503, "restored")
        await release(town)

        await until(lambda: _is_asked_about(town), what="the network's answer")
        await asyncio.sleep(_LOOKS)
        assert CANCELLED not in await town.moved(), "its network does not know it, and yet it does not go"
        assert (await town.api("POST", path)).status == 200
        assert (await operate(town, "juma", "hold", "--release", *SCOPE)).code == 0
        assert (await pay(town, "AIRTEL_MONEY", PAID, "order-2")).status == 201
        await _until(town, PAID, "COMPLETED")
        await asyncio.sleep(_LOOKS)
    assert {phone: len(moved) for phone, moved in (await town.moved()).items()} == {PAID: 1}
    assert (await statuses(town))[CANCELLED] == "CANCELLED"
    await witness.assert_clean(town.database)

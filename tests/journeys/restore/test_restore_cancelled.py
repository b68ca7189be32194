"""A payout that its merchant cancelled in the lost time: it is PENDING again, and must not be sent by the release."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.journeys import database_facts
from tests.journeys.full_stack import FullStack, full_stack_started, until
from tests.journeys.restored_stack import (
    a_host,
    appoint,
    back_up,
    bring_back,
    operate,
    pay,
    release,
    statuses,
    until_fenced,
    until_looked_again,
)

CANCELLED, PAID = "+255684000200", "+255684000201"
SCOPE = ("--channel", "AIRTEL_MONEY", "--only", "payouts")


@pytest.fixture
async def full_stack(tmp_path: Path, database_url: str) -> AsyncIterator[FullStack]:
    async with full_stack_started(tmp_path, database_url) as full_stack:
        await appoint(full_stack)
        yield full_stack


async def _until(full_stack: FullStack, phone: str, status: str) -> None:
    async def is_so() -> bool:
        return (await statuses(full_stack)).get(phone) == status

    await until(is_so, what=f"{status} of {phone}")


async def _is_nothing_asked_first(full_stack: FullStack) -> bool:
    async with full_stack.database.read() as connection:
        return not await connection.fetchval("SELECT bool_or(is_asked_first) FROM dispatches")


async def test_a_lost_cancellation_is_repeated_behind_a_hold_and_only_the_other_payout_is_paid(
    full_stack: FullStack, tmp_path: Path
) -> None:
    async with a_host(full_stack, tmp_path / "state"):
        pass  # From here on the host has a mark.
    made = await pay(full_stack, "AIRTEL_MONEY", CANCELLED, "order-1")
    path = f"/v1/payments/{made.body['transaction']['id']}/cancel"
    backup = await back_up(full_stack.database_url)
    assert (await full_stack.api("POST", path)).status == 200
    async with a_host(full_stack, tmp_path / "state"):
        await pay(full_stack, "AIRTEL_MONEY", PAID, "order-2")
        await _until(full_stack, PAID, "COMPLETED")
    await bring_back(full_stack.database_url, backup)
    assert await statuses(full_stack) == {CANCELLED: "PENDING"}

    async with a_host(full_stack, tmp_path / "state"):
        await until_fenced(full_stack)
        held = await operate(full_stack, "asha", "hold", *SCOPE, "--reason", "Merchants repeat their cancellations")
        assert held.code == 0, held.err
        refused = await full_stack.api("POST", path)
        assert (refused.status, refused.code) == (503, "restored")
        await release(full_stack)

        await until(lambda: _is_nothing_asked_first(full_stack), what="the network's answer")
        await until_looked_again(full_stack)
        assert CANCELLED not in await full_stack.moved(), "its network does not know it, and yet it does not go"
        assert (await full_stack.api("POST", path)).status == 200
        assert (await operate(full_stack, "juma", "hold", "--release", *SCOPE)).code == 0
        assert (await pay(full_stack, "AIRTEL_MONEY", PAID, "order-2")).status == 201
        await _until(full_stack, PAID, "COMPLETED")
        await until_looked_again(full_stack)
    assert {phone: len(moved) for phone, moved in (await full_stack.moved()).items()} == {PAID: 1}
    assert (await statuses(full_stack))[CANCELLED] == "CANCELLED"
    await database_facts.assert_clean(full_stack.database)

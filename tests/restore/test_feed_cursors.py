"""Cursors of feeds over restores: those that point at what is lost, and those that do not."""

import pytest

from malipo import clock
from malipo.restore.feed_cursors import CursorLost, cursor_of, find_epoch, parse, require_kept
from tests.payments.payment_steps import PaymentSteps
from tests.restore.operators import fence
from tests.restore.operators import steps as steps


def test_a_cursor_is_parsed_as_it_was_written() -> None:
    for epoch, number in ((1, 0), (1, 15), (2, 15), (1_763_200_000, 10**18 - 1)):
        assert parse(cursor_of(epoch, number)) == (epoch, number)


@pytest.mark.parametrize("text", ["", "x", "-1", "2-", "-", "1-2-3", "15 ", "٣", "1" * 19])
def test_another_text_is_no_cursor(text: str) -> None:
    assert parse(text) is None


async def test_a_cursor_from_before_the_restore_that_lies_ahead_is_lost(steps: PaymentSteps) -> None:
    async with steps.database.begin() as tx:
        await tx.execute("INSERT INTO feeds (merchant_id, last_number) VALUES ($1, 15)", steps.merchant_id)
    await fence(steps)
    async with steps.database.read() as connection:
        epoch = await find_epoch(connection)
        for of_epoch, number in ((1, 15), (1, 3), (epoch, 31)):
            await require_kept(connection, steps.merchant_id, epoch=epoch, of_epoch=of_epoch, number=number)
        for of_epoch, number in ((1, 16), (epoch - 5, 16), (epoch + 1, 3)):
            with pytest.raises(CursorLost) as lost:
                await require_kept(connection, steps.merchant_id, epoch=epoch, of_epoch=of_epoch, number=number)
            assert f"{epoch}-15" in str(lost.value.details)
    assert [cursor_of(1, 15), cursor_of(2, 15)] == ["15", "2-15"]


async def test_a_cursor_of_a_feed_that_was_empty_then_is_lost(steps: PaymentSteps) -> None:
    """Restored twice: at the first fence the merchant had no events, at the second they had ten."""
    await fence(steps)
    async with steps.database.begin() as tx:
        await tx.execute("INSERT INTO feeds (merchant_id, last_number) VALUES ($1, 10)", steps.merchant_id)
        first = await find_epoch(tx)
    await steps.service.fence("It was restored again.", epoch=first)
    async with steps.database.read() as connection:
        epoch = await find_epoch(connection)
        with pytest.raises(CursorLost):
            await require_kept(connection, steps.merchant_id, epoch=epoch, of_epoch=1, number=5)
        await require_kept(connection, steps.merchant_id, epoch=epoch, of_epoch=first, number=5)


async def test_an_epoch_is_later_than_any_that_a_host_has_seen(steps: PaymentSteps) -> None:
    """Also when the clock of the database that is gone was ahead."""
    ahead = int(clock.now().timestamp()) + 3600
    assert await steps.service.fence("It was restored.", epoch=1, beyond=ahead) == ahead + 1
    assert await steps.service.fence("Another host notices too.", epoch=1) == ahead + 1
    assert await steps.service.fence("It was restored again.", epoch=ahead + 1) == ahead + 2

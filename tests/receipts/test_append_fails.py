"""What must not wait for the receipt log."""

import asyncio

import pytest

from malipo.db import DataError
from malipo.payments.transaction import Status, Type
from tests.db.lock_waits import are_waiting
from tests.journeys.full_stack import until
from tests.receipts.log_stack import LogStack

UNNUMBERED = "SELECT FROM events WHERE feed_number IS NULL"


async def test_events_get_their_numbers_where_the_log_cannot_be_appended_to(stack: LogStack) -> None:
    await stack.steps.ended(Type.COLLECTION, Status.COMPLETED)
    await stack.execute("ALTER TABLE receipt_facts ADD CONSTRAINT nothing_goes_in CHECK (false)")

    with pytest.raises(DataError):
        await stack.number()
    assert await stack.rows(UNNUMBERED) == []

    await stack.execute("ALTER TABLE receipt_facts DROP CONSTRAINT nothing_goes_in")
    await stack.append()
    assert len(await stack.rows("SELECT FROM receipt_facts")) == 1


async def test_events_get_their_numbers_while_an_append_hangs(stack: LogStack) -> None:
    await stack.steps.ended(Type.COLLECTION, Status.COMPLETED)
    await stack.number(is_on=False)
    await stack.steps.ended(Type.COLLECTION, Status.COMPLETED)

    async with stack.database.begin() as other:
        await other.execute("LOCK TABLE receipt_facts")
        append = asyncio.create_task(stack.append())
        await until(lambda: are_waiting(stack.database), pause=0.01)
        assert await stack.number(is_on=False) == 2
        assert not append.done()
    await append
    await stack.append()
    assert len(await stack.rows("SELECT FROM receipt_facts")) == 2


async def test_a_fact_and_its_merchants_position_are_one_commit(stack: LogStack) -> None:
    await stack.steps.ended(Type.COLLECTION, Status.COMPLETED)
    await stack.execute("ALTER TABLE feeds ADD CONSTRAINT nothing_moves CHECK (logged_to = 0)")

    with pytest.raises(DataError):
        await stack.number()
    assert await stack.rows("SELECT FROM receipt_facts") == []

    await stack.execute("ALTER TABLE feeds DROP CONSTRAINT nothing_moves")
    await stack.append()
    assert len(await stack.rows("SELECT FROM receipt_facts")) == 1

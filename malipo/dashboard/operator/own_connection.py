"""Runs an act of an operator that takes longer than a page may, on a database connection of its own."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Tx
from malipo.outbox.event import EVENTS_TOPIC

Done = TypeVar("Done")


async def write_apart(request: OperatorRequest, act: Callable[[Tx], Awaitable[Done]]) -> Done:
    """Run the act in one transaction, then wake the fan-out for the events of settlements that it ended."""
    database = request.parts.queries.database.another(size=1)
    await database.open()
    try:
        async with database.begin() as tx:
            done = await act(tx)
    finally:
        await database.close()
    request.parts.notifier.notify(EVENTS_TOPIC)
    return done

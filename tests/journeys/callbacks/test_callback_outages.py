"""Callbacks when the database is away, and when its word is not heard: none is acknowledged that was not written down."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.journeys.callbacks.square import Square, assert_is_refusal, is_ready, mpesa
from tests.journeys.callbacks.square import square as square
from tests.journeys.town import until
from tests.journeys.wire import Fault, wire_to


@asynccontextmanager
async def _at_the_end_of_a_wire(square: Square) -> AsyncIterator[tuple[Any, str]]:
    async with wire_to(square.town.database_url) as (wire, via):
        running = square.town.start("api", database_url=via, database_patience_seconds=1)
        await until(lambda: is_ready(square.http, running.url), what="the API at the end of the wire")
        try:
            yield wire, running.url
        finally:
            wire.come_back()
            await asyncio.to_thread(running.stop)


async def test_a_callback_that_cannot_be_written_down_is_not_acknowledged(square: Square) -> None:
    """So that the network tells it again."""
    ended, hinted = await square.stuck("AIRTEL_MONEY", "DISBURSEMENT"), await square.stuck("MPESA", "DISBURSEMENT")
    doubtful = await square.stuck("AIRTEL_MONEY", "DISBURSEMENT")
    told = [
        ("airtel_money", square.airtel(await square.key(ended))),
        ("mpesa", mpesa(await square.key(hinted))),
    ]
    async with _at_the_end_of_a_wire(square) as (wire, url):
        wire.go_away()
        away = [await square.tell(route, body, url=url) for route, body in told]
        assert [await square.status(id_) for id_ in (ended, hinted)] == ["PROCESSING", "PROCESSING"]
        wire.come_back()
        back = [await _tell_again(square, route, body, url) for route, body in told]
        # And where the database did it, and could not say so:
        trap = wire.trap(Fault.CUT_AFTER, after="INSERT INTO hearings", stays_away=True)
        in_doubt = await square.tell("airtel_money", square.airtel(await square.key(doubtful)), url=url)
        wire.come_back()
        again = await _tell_again(square, "airtel_money", square.airtel(await square.key(doubtful)), url)

    assert trap.sprung.is_set()
    for answer, code in [*((each, "unavailable") for each in away), (in_doubt, "outcome_unknown")]:
        assert_is_refusal(answer, 503, code)
        assert int(answer[2]["Retry-After"]) >= 1
    assert [*back, again] == [200, 200, 200]
    assert await square.status(ended) == "COMPLETED"
    assert (await square.row(hinted))["dispatch"]["is_due"]
    row = await square.row(doubtful)
    assert (row["status"], [step for step, *_ in row["moves"]]) == ("COMPLETED", ["open", "end"])


async def _tell_again(square: Square, route: str, body: bytes, url: str) -> int:
    """As a network does that was not acknowledged: until it is, or refused for good."""

    async def status() -> int | None:
        answered = (await square.tell(route, body, url=url))[0]
        return answered if answered < 500 else None

    return int(await until(status, seconds=15, what="an acknowledgement"))

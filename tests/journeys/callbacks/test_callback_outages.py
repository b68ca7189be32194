"""Callbacks while the database is away or its answer is lost: malipo acknowledges no callback that it has not stored."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.journeys.callbacks.callback_stack import CallbackStack, assert_is_refusal, is_ready, mpesa
from tests.journeys.callbacks.callback_stack import callback_stack as callback_stack
from tests.journeys.full_stack import until
from tests.journeys.postgres_proxy import Fault, proxy_to


@asynccontextmanager
async def _at_the_end_of_a_wire(callback_stack: CallbackStack) -> AsyncIterator[tuple[Any, str]]:
    async with proxy_to(callback_stack.full_stack.database_url) as (proxy, via):
        running = callback_stack.full_stack.start("api", database_url=via, database_patience_seconds=1)
        await until(lambda: is_ready(callback_stack.http, running.url), what="the API at the end of the wire")
        try:
            yield proxy, running.url
        finally:
            proxy.come_back()
            await asyncio.to_thread(running.stop)


async def test_a_callback_that_cannot_be_written_down_is_not_acknowledged(callback_stack: CallbackStack) -> None:
    """So that the network sends it again."""
    ended, hinted = (
        await callback_stack.stuck("AIRTEL_MONEY", "DISBURSEMENT"),
        await callback_stack.stuck("MPESA", "DISBURSEMENT"),
    )
    doubtful = await callback_stack.stuck("AIRTEL_MONEY", "DISBURSEMENT")
    reported = [
        ("airtel_money", callback_stack.airtel(await callback_stack.key(ended))),
        ("mpesa", mpesa(await callback_stack.key(hinted))),
    ]
    async with _at_the_end_of_a_wire(callback_stack) as (proxy, url):
        proxy.go_away()
        away = [await callback_stack.send_callback(route, body, url=url) for route, body in reported]
        assert [await callback_stack.status(id_) for id_ in (ended, hinted)] == ["PROCESSING", "PROCESSING"]
        proxy.come_back()
        back = [await _tell_again(callback_stack, route, body, url) for route, body in reported]
        # And where the database did it, and could not say so:
        trap = proxy.trap(Fault.CUT_AFTER, after="INSERT INTO network_answers", stays_away=True)
        in_doubt = await callback_stack.send_callback(
            "airtel_money", callback_stack.airtel(await callback_stack.key(doubtful)), url=url
        )
        proxy.come_back()
        again = await _tell_again(
            callback_stack, "airtel_money", callback_stack.airtel(await callback_stack.key(doubtful)), url
        )

    assert trap.sprung.is_set()
    for answer, code in [*((each, "unavailable") for each in away), (in_doubt, "outcome_unknown")]:
        assert_is_refusal(answer, 503, code)
        assert int(answer[2]["Retry-After"]) >= 1
    assert [*back, again] == [200, 200, 200]
    assert await callback_stack.status(ended) == "COMPLETED"
    assert (await callback_stack.row(hinted))["dispatch"]["is_due"]
    row = await callback_stack.row(doubtful)
    assert (row["status"], [step for step, *_ in row["moves"]]) == ("COMPLETED", ["open", "end"])


async def _tell_again(callback_stack: CallbackStack, route: str, body: bytes, url: str) -> int:
    """As a network does that was not acknowledged: until it is, or refused for good."""

    async def status() -> int | None:
        answered = (await callback_stack.send_callback(route, body, url=url))[0]
        return answered if answered < 500 else None

    return int(await until(status, what="an acknowledgement"))

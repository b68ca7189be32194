"""A flood of reads of the public log: one at a time, and none on the connections of payments."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from malipo.api import receipts
from malipo.api.parts import ApiParts
from malipo.api.receipt_log_reads import LogReads
from malipo.db.queries import Queries
from malipo.errors import Unavailable
from tests.payments.payment_steps import PaymentSteps


class Watched:
    """Queries, and how many of them were under way at once."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries
        self._under_way = self.most = 0

    async def read(self, query: Any) -> Any:
        return await self._watch(self._queries.read, query)

    async def read_snapshot(self, query: Any) -> Any:
        return await self._watch(self._queries.read_snapshot, query)

    async def _watch(self, act: Callable[[Any], Awaitable[Any]], query: Any) -> Any:
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        try:
            return await act(query)
        finally:
            self._under_way -= 1


def request(**path_params: str) -> Request:
    return Request({"type": "http", "path_params": path_params})


async def test_they_take_turns_on_the_connections_of_customers(steps: PaymentSteps) -> None:
    service = steps.service
    programs, customers = Watched(service.queries), Watched(service.customer_queries)
    settings = replace(service.settings, receipt_log="public")
    watched = replace(service, settings=settings, customer_queries=cast(Queries, customers))
    parts = replace(ApiParts.of(watched), queries=cast(Queries, programs))
    asked = [receipts.keys(parts, request()) for _ in range(20)]
    asked += [receipts.checkpoint(parts, request()) for _ in range(20)]
    asked += [receipts.tile(parts, request(path="0/000.p/1")) for _ in range(20)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [each.status_code for each in answers if not isinstance(each, BaseException)] == [200] * 20
    assert sum(isinstance(each, HTTPException) and each.status_code == 404 for each in answers) == 40
    assert (programs.most, customers.most) == (0, 1)


async def test_a_read_that_waits_too_long_is_refused_and_leaves_the_first_alone(steps: PaymentSteps) -> None:
    reads, go = LogReads(steps.service.customer_queries, wait_seconds=0.01), asyncio.Event()
    first = asyncio.ensure_future(reads.read(lambda _: go.wait()))
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await reads.read(lambda _: go.wait())
    go.set()
    assert await first

"""Merchants' programs that go on asking while versions come and go, and what they were answered."""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import aiohttp

from tests.conftest import Answer, Client, Merchant, Running

_ASKING = 4
_PAUSE_SECONDS = 0.05


@dataclass
class Load:
    """`apis` is what a load balancer would know: where requests go now."""

    merchant: Merchant
    apis: list[Running] = field(default_factory=list)
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)  # by what was going on, and by status
    refusals: list[str] = field(default_factory=list)  # the first of them, to be read
    created: dict[str, str] = field(default_factory=dict)  # key to id
    phase: str = "the start"
    under_way: Counter[str] = field(default_factory=Counter)  # by address
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def of(self, *phases: str) -> set[int]:
        """The statuses that were answered then."""
        return {status for (phase, status) in self.answers if phase in phases}

    async def ask_on(self, http: aiohttp.ClientSession) -> None:
        """Create a payment, by one key until it is created; look at it, at a list and at the wallet."""
        while True:
            number = next(self._numbers)
            key = f"order-{number}"
            path, party, channel, prefix = (
                ("/v1/payments", "buyer", "MPESA", "+255754")
                if number % 2
                else ("/v1/payments/disburse", "recipient", "AIRTEL_MONEY", "+255684")
            )
            # The last three digits say how the simulator treats a phone: this one answers and pays.
            body = {
                "amount": 1000 + number % 500,
                "channel": channel,
                f"{party}Phone": f"{prefix}{number % 1000:03}001",
            }
            while key not in self.created:
                answer = await self._ask(http, number, "POST", path, body, {"Idempotency-Key": key})
                if answer is not None and answer.status == 201:
                    self.created[key] = answer.body["transaction"]["id"]
                await asyncio.sleep(_PAUSE_SECONDS)
            for path in (f"/v1/payments/{self.created[key]}", "/v1/payments?limit=5", "/v1/wallet"):
                await self._ask(http, number, "GET", path)

    async def _ask(
        self,
        http: aiohttp.ClientSession,
        number: int,
        method: str,
        path: str,
        body: dict[str, object] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer | None:
        """None if a process that ends has closed the connection: as through a load balancer, it is asked again."""
        api = self.apis[number % len(self.apis)]
        phase = self.phase
        self.under_way[api.url] += 1
        try:
            answer = await Client(http, api.url, self.merchant.key)(method, path, body, headers=headers)
        except aiohttp.ClientConnectionError:
            return None
        finally:
            self.under_way[api.url] -= 1
        self.answers[phase, answer.status] += 1
        if answer.status >= 400 and len(self.refusals) < 20:
            self.refusals.append(f"{phase}: {method} {path} {answer.status} {answer.body}")
        return answer


@asynccontextmanager
async def loaded(load: Load) -> AsyncIterator[Load]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        asking = [asyncio.ensure_future(load.ask_on(http)) for _ in range(_ASKING)]
        try:
            yield load
        finally:
            for each in asking:
                each.cancel()
            for each in asking:
                with suppress(asyncio.CancelledError):
                    await each

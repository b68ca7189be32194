"""A merchant's programs that ask at a steady rate, whether or not they are answered, and what they were answered."""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.conftest import Answer, Client
from tests.journeys.concurrency import create

Said = tuple[int | str, str | None]
_GOOD = (200, 201)


@dataclass(frozen=True)
class ReceivedAnswer:
    """The answer to one request, or the error that came in place of an answer."""

    at: float
    phase: str
    said: Said
    is_payment: bool
    is_first: bool  # no repeat with the same key

    @property
    def is_good(self) -> bool:
        return self.said[0] in _GOOD


@dataclass
class SteadyLoad:
    """Half payouts and half collections, each to a phone of its own and with a key of its own, and some reads."""

    clients: list[Client]  # A test may exchange them while requests are sent, as a load balancer does.
    first: int  # the number of the first payment: phones and keys begin there
    retries: bool  # whether a program asks again with the same key
    phase: str = ""  # what the test is doing
    received: list[ReceivedAnswer] = field(default_factory=list)
    created: dict[int, str] = field(default_factory=dict)  # payment ids that were acknowledged, by number
    phones: set[str] = field(default_factory=set)  # of all payments that were asked for
    under_way: Counter[str] = field(default_factory=Counter)  # by address
    refusals: list[str] = field(default_factory=list)  # the first of them, to be read
    is_over: bool = False

    @property
    def said(self) -> Counter[Said]:
        return Counter(each.said for each in self.received)

    @property
    def failed(self) -> dict[Said, int]:
        return {said: times for said, times in self.said.items() if said[0] not in _GOOD}

    @property
    def asked_again(self) -> int:
        return sum(not each.is_first for each in self.received)

    @property
    def longest_gap_seconds(self) -> float:
        return longest_gap_seconds(self.received)

    def of(self, *phases: str) -> list[ReceivedAnswer]:
        """What was heard while the test did this; without a name, all."""
        return [each for each in self.received if not phases or each.phase in phases]

    async def run(self, number: int | None, *, per_second: float) -> None:
        """So many requests, or until it is over: of four, two payments and two reads."""
        loop = asyncio.get_running_loop()
        began, tasks = loop.time(), []
        for place in itertools.count() if number is None else range(number):
            await asyncio.sleep(max(began + place / per_second - loop.time(), 0))
            if self.is_over:
                break
            asked = self._pay(self.first + place) if place % 4 < 2 else self._read(place)
            tasks.append(asyncio.create_task(asked))
        await asyncio.gather(*tasks)

    async def until_more(self, number: int, *, good: bool = True, seconds: float = 90) -> None:
        """Return when so many more answers were good, or were not."""

        def count() -> int:
            return sum(each.is_good == good for each in self.received)

        wanted = count() + number
        async with asyncio.timeout(seconds):
            while count() < wanted:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    async def _pay(self, number: int) -> None:
        party = "recipientPhone" if number % 2 else "buyerPhone"
        body = {"amount": 1000, "channel": "AIRTEL_MONEY", party: phone(number)}
        self.phones.add(phone(number))
        is_first = True
        while not await self._paid(body, number, is_first=is_first) and self.retries:
            is_first = False
            await asyncio.sleep(0.5)

    async def _paid(self, body: dict[str, Any], number: int, *, is_first: bool) -> bool:
        client = self.clients[number % len(self.clients)]
        asked = create(client, body, key=f"order-{number}")
        answer = await self._answer_to(client, asked, is_payment=True, is_first=is_first)
        if answer is None or answer.status != 201:
            return False
        self.created[number] = answer.body["transaction"]["id"]
        return True

    async def _read(self, place: int) -> None:
        client = self.clients[place % len(self.clients)]
        paths = [
            "/v1/payments",
            "/v1/wallet",
            "/v1/wallet/entries",
            *(f"/v1/payments/{id_}" for id_ in list(self.created.values())[-1:]),
        ]
        await self._answer_to(client, client("GET", paths[place % len(paths)]), is_payment=False, is_first=True)

    async def _answer_to(
        self, client: Client, asked: Awaitable[Answer], *, is_payment: bool, is_first: bool
    ) -> Answer | None:
        phase, answer = self.phase, None
        self.under_way[client.url] += 1
        try:
            answer = await asked
            said: Said = (answer.status, answer.code)
        except (aiohttp.ClientError, TimeoutError) as error:
            said = (type(error).__name__, None)
        finally:
            self.under_way[client.url] -= 1
        received = ReceivedAnswer(asyncio.get_running_loop().time(), phase, said, is_payment, is_first)
        self.received.append(received)
        if not received.is_good and len(self.refusals) < 20:
            self.refusals.append(f"{phase}: {said} {answer.body if answer is not None else ''}")
        return answer


def phone(number: int) -> str:
    """The last three digits say how the simulator treats a phone: this one answers and pays."""
    return f"+25568{number:04}001"


def longest_gap_seconds(received: list[ReceivedAnswer]) -> float:
    """Between two good answers to payments."""
    times = sorted(each.at for each in received if each.is_payment and each.is_good)
    return max((later - earlier for earlier, later in itertools.pairwise(times)), default=0.0)


@asynccontextmanager
async def running(load: SteadyLoad, *, per_second: float) -> AsyncIterator[SteadyLoad]:
    """Programs that ask until the block ends; every payment that was begun is asked for until it is acknowledged."""
    asking = asyncio.create_task(load.run(None, per_second=per_second))
    try:
        yield load
    except BaseException:
        load.retries = False  # A test that has failed does not wait for what may never be answered.
        raise
    finally:
        load.is_over = True
        await asking

"""Merchants' programs that ask at a steady rate, whether or not they are answered, and what they were answered."""

import asyncio
import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.conftest import Answer, Client
from tests.journeys.concurrency import create

Said = tuple[int | str, str | None]


@dataclass
class SteadyLoad:
    """Half payouts and half collections, each to a phone of its own and with a key of its own, and some reads."""

    clients: list[Client]
    first: int  # the number of the first payment: phones and keys begin there
    retries: bool  # whether a program asks again with the same key
    answered_at: list[float] = field(default_factory=list)
    said: Counter[Said] = field(default_factory=Counter)
    created: dict[int, str] = field(default_factory=dict)  # payment ids that were acknowledged, by number
    asked_again: int = 0

    @property
    def longest_gap_seconds(self) -> float:
        """Between two answers to payments."""
        times = sorted(self.answered_at)
        return max((later - earlier for earlier, later in itertools.pairwise(times)), default=0.0)

    @property
    def failed(self) -> dict[Said, int]:
        return {said: times for said, times in self.said.items() if said[0] not in (200, 201)}

    async def run(self, number: int, *, per_second: float) -> None:
        """So many requests: of four, two payments and two reads."""
        loop = asyncio.get_running_loop()
        began, tasks = loop.time(), []
        for place in range(number):
            await asyncio.sleep(max(began + place / per_second - loop.time(), 0))
            client = self.clients[place % len(self.clients)]
            asked = self._pay(client, self.first + place) if place % 4 < 2 else self._read(client, place)
            tasks.append(asyncio.create_task(asked))
        await asyncio.gather(*tasks)

    async def _pay(self, client: Client, number: int) -> None:
        party = "recipientPhone" if number % 2 else "buyerPhone"
        body = {"amount": 1000, "channel": "AIRTEL_MONEY", party: f"+25568{number:04}001"}
        while not await self._paid(client, body, number) and self.retries:
            self.asked_again += 1
            await asyncio.sleep(0.5)

    async def _paid(self, client: Client, body: dict[str, Any], number: int) -> bool:
        answer = await self._answer_to(create(client, body, key=f"order-{number}"))
        if answer is None or answer.status != 201:
            return False
        self.answered_at.append(asyncio.get_running_loop().time())
        self.created[number] = answer.body["transaction"]["id"]
        return True

    async def _read(self, client: Client, place: int) -> None:
        paths = [
            "/v1/payments",
            "/v1/wallet",
            "/v1/wallet/entries",
            *(f"/v1/payments/{id_}" for id_ in list(self.created.values())[-1:]),
        ]
        await self._answer_to(client("GET", paths[place % len(paths)]))

    async def _answer_to(self, asked: Any) -> Answer | None:
        try:
            answer: Answer = await asked
        except (aiohttp.ClientError, TimeoutError) as error:
            self.said[(type(error).__name__, None)] += 1
            return None
        self.said[(answer.status, answer.code)] += 1
        return answer

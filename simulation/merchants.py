"""Merchants: they ask for payments over HTTP, ask again when they heard nothing, cancel, refund, and read the feed.

They remember what they were told. The oracle holds that against the networks' book.
"""

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

import msgspec

from malipo_simulator.transaction import GatewayName
from simulation.http_exchange import exchange
from simulation.plan import PlannedPayment
from simulation.refunds.merchant_refunds import MerchantRefunds
from simulation.template import SimulatedMerchant
from simulation.world import API_PORTS, World

_TRIES = 30
_INTERNAL_ERROR = 500
FEED_SECONDS = 6.0
_AWAY, _AWAY_LOOKS = 0.3, 5  # how many readers of the feed miss so many looks, once
_LATENESS = (2.0, 2.0, 6.0, 14.0)  # seconds at most, of who repeats after a restore


@dataclass
class PaymentReplies:
    """What a merchant was told of one payment."""

    ids: list[str] = field(default_factory=list)  # of acknowledged requests, in their order
    acknowledged_at: list[float] = field(default_factory=list)
    refusals: list[tuple[int, str]] = field(default_factory=list)
    troubles: list[int] = field(default_factory=list)  # answers that a service must never give
    cancelled: list[int] = field(default_factory=list)  # the answers to a cancellation
    cancel_asked_at: float | None = None
    cancelled_at: float | None = None  # when the answer was that it is


async def call(
    port: int, method: str, path: str, merchant: SimulatedMerchant, *, body: Any = None, key: str | None = None
) -> tuple[int, Any]:
    """One request on a connection of its own. OSError or TimeoutError if no answer came."""
    content = b"" if body is None else msgspec.json.encode(body)
    headers = {"X-API-Key": merchant.key}
    if key is not None:
        headers["Idempotency-Key"] = key
    if body is not None:
        headers["Content-Type"] = "application/json"
    reply = await exchange(port, method, path, headers, content)
    return reply.status, msgspec.json.decode(reply.body)


class Merchants:
    def __init__(
        self,
        world: World,
        accounts: list[SimulatedMerchant],
        payments: tuple[PlannedPayment, ...],
        twins: tuple[PlannedPayment, ...],
        seed: int,
    ) -> None:
        self._world = world
        self._accounts = accounts
        self._payments = payments
        self._chance = random.Random(f"merchants {seed}")
        self._seed = seed
        self._twins = {each.twin_of: each for each in twins}
        self.told = {payment.number: PaymentReplies() for payment in (*payments, *twins)}
        self.feeds: dict[int, list[list[str]]] = {0: [[]], 1: [[]]}  # the ids that were read, from each beginning
        self.is_reading = True
        self.is_everybody_back = False  # Nobody who reads a feed is away any more.
        self.refunds = MerchantRefunds(self._call, payments, world.loop.time, self._trouble)
        self.acts: list[tuple[float, str, str]] = []  # when, about which phone, and what

    async def pay_all(self) -> None:
        await asyncio.gather(*(self._pay(each) for each in self._payments))

    async def _pay(self, payment: PlannedPayment) -> None:
        await asyncio.sleep(payment.at)
        if payment.is_raced:
            await asyncio.gather(self._until_told(payment, 0), self._until_told(payment, 1))
        else:
            for number in range(payment.repeats):
                if number:
                    await asyncio.sleep(self._chance.uniform(0.1, 6))
                await self._until_told(payment, number)
        if payment.cancelled_after is not None and self.told[payment.number].ids:
            await asyncio.sleep(payment.cancelled_after)
            await self._cancel(payment)
        if self.told[payment.number].ids:
            await self.refunds.give_back(payment, self.told[payment.number].ids[0])

    async def repeat_all(self) -> None:
        """After a restore: everything that was asked for is asked for again, under the same keys; by some at once, by
        others when operators have adopted it."""
        await asyncio.gather(*(self._repeat(each) for each in self._payments))

    async def _repeat(self, payment: PlannedPayment) -> None:
        chance = random.Random(f"repeat {self._seed} {payment.number}")
        await asyncio.sleep(chance.choice(_LATENESS) * chance.random())
        await self._until_told(payment, 0)
        if ids := self.told[payment.number].ids:
            await self.refunds.give_back_again(payment, ids[-1])
        if (twin := self._twins.get(payment.number)) is not None:
            await self._until_told(twin, 0)

    async def _call(
        self, payment: PlannedPayment, turn: int, method: str, path: str, body: Any, key: str | None
    ) -> tuple[int, Any]:
        """The answer about a refund; 0 if there is none."""
        port, merchant = API_PORTS[(payment.number + turn) % len(API_PORTS)], self._accounts[payment.merchant]
        try:
            status, answer = await call(port, method, path, merchant, body=body, key=key)
        except (OSError, TimeoutError):
            status, answer = 0, None
        if method == "POST":
            self._note(payment, f"refunds {payment.key}, {key}: {status or 'no answer'}", answer)
        return status, answer

    def _trouble(self, payment: PlannedPayment, seconds: float) -> None:
        """The network that pays this merchant's refund answers every request with an error for a while."""
        name = "CLICKPESA" if payment.channel == "HALOPESA" else payment.channel
        switches = self._world.simulator.network.control.switches[GatewayName(name)]
        switches.error_rate = 1.0
        self._world.loop.call_later(seconds, setattr, switches, "error_rate", 0.0)

    async def _until_told(self, payment: PlannedPayment, number: int) -> None:
        """Ask until there is an answer that is not the service's own trouble."""
        is_in = payment.type == "COLLECTION"
        party = "buyer" if is_in else "recipient"
        body = {
            "amount": payment.amount,
            "channel": payment.channel,
            f"{party}Phone": payment.phone,
            f"{party}Name": "Asha",
        }
        path = "/v1/payments" if is_in else "/v1/payments/disburse"
        told = self.told[payment.number]
        for attempt in range(_TRIES):
            try:
                port = API_PORTS[(payment.number // 2 + number + attempt) % len(API_PORTS)]
                status, answer = await call(
                    port, "POST", path, self._accounts[payment.merchant], body=body, key=payment.key
                )
            except (OSError, TimeoutError):
                status, answer = 0, None
            self._note(payment, f"{payment.type} {payment.amount} {payment.key}: {status or 'no answer'}", answer)
            if status == _INTERNAL_ERROR:
                told.troubles.append(status)
            if status in (200, 201):
                told.ids.append(answer["transaction"]["id"])
                told.acknowledged_at.append(self._world.loop.time())
                return
            if 400 <= status < 500 and status not in (408, 429):
                told.refusals.append((status, str(answer.get("code"))))
                return
            await asyncio.sleep(self._chance.uniform(0.3, 2))

    async def _cancel(self, payment: PlannedPayment) -> None:
        told = self.told[payment.number]
        told.cancel_asked_at = self._world.loop.time()
        try:
            path = f"/v1/payments/{told.ids[0]}/cancel"
            status, _ = await call(API_PORTS[0], "POST", path, self._accounts[payment.merchant], body={})
        except (OSError, TimeoutError):
            status = 0
        told.cancelled.append(status)
        if status == 200:
            told.cancelled_at = self._world.loop.time()
        self._note(payment, f"cancels {payment.key}: {status or 'no answer'}", None)

    def _note(self, payment: PlannedPayment, what: str, answer: Any) -> None:
        about = answer or {}
        words = about.get("transaction", {}).get("id") or about.get("code") or ""
        self.acts.append((self._world.loop.time(), payment.phone, f"{what} {words}".rstrip()))

    async def read_feed(self, number: int) -> None:
        """Follow the event feed of one merchant. A cursor that is no longer good means: read it from the beginning.

        Some are away for half a minute, and return with a cursor from before a restore to a feed that has grown again.
        """
        cursor = ""
        chance = random.Random(f"feed {self._seed} {number}")
        looks_away = _AWAY_LOOKS if chance.random() < _AWAY else 0
        while self.is_reading:
            if self.feeds[number][-1] and looks_away and not self.is_everybody_back:
                looks_away -= 1
                await asyncio.sleep(FEED_SECONDS)
                continue
            try:
                path = f"/v1/events?limit=5{f'&after={cursor}' if cursor else ''}"
                status, page = await call(self._chance.choice(API_PORTS), "GET", path, self._accounts[number])
            except (OSError, TimeoutError):
                await asyncio.sleep(1)
                continue
            if status == 200:
                self.feeds[number][-1] += [each["id"] for each in page["events"]]
                cursor = page["next"]
                if page["events"]:
                    continue
            elif 400 <= status < 500:
                cursor = ""
                self.feeds[number].append([])
            await asyncio.sleep(FEED_SECONDS)

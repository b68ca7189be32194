"""Merchants who make batches, have them approved by somebody else, and cancel some; each asked for until answered."""

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from simulation.batches.planned import PlannedBatch
from simulation.merchants import call
from simulation.template import SimulatedMerchant
from simulation.world import API_PORTS, World

_PATH = "/v1/payments/disburse/batches"
_TRIES = 30
_LATER_TRIES, _LATER_SECONDS = 4, 5.0
_OK = 200


@dataclass
class BatchReplies:
    """What a merchant was told of one batch."""

    ids: list[str] = field(default_factory=list)
    approved_at: list[float] = field(default_factory=list)
    cancelled_at: list[float] = field(default_factory=list)  # told that all of it is cancelled
    troubles: list[str] = field(default_factory=list)  # answers that a service must never give


class MerchantBatches:
    def __init__(
        self, world: World, accounts: list[SimulatedMerchant], batches: tuple[PlannedBatch, ...], seed: int
    ) -> None:
        self._world = world
        self._accounts = accounts
        self.batches = batches
        self._chance = random.Random(f"merchants of batches {seed}")
        self._lateness = random.Random(f"repeats of batches {seed}")
        self.told = {batch.number: BatchReplies() for batch in batches}
        self.acts: list[tuple[float, str, str]] = []  # when, about which phone, and what

    async def make_all(self) -> None:
        await asyncio.gather(*(self._live(each) for each in self.batches))

    async def repeat_all(self) -> None:
        """After a restore: what was made and approved is made and approved again, under the same key."""
        again = [each for each in self.batches if each.fate == "approved"]
        await asyncio.gather(*(self._make_and_approve(each) for each in again))

    async def _live(self, batch: PlannedBatch) -> None:
        await asyncio.sleep(batch.at)
        if not await self._make(batch):
            return
        await asyncio.sleep(batch.pause)
        if batch.fate == "cancelled":
            await self._cancel(batch)
        elif batch.fate == "raced":
            await asyncio.gather(self._approve(batch, 0), self._cancel(batch))
        else:
            await asyncio.gather(*(self._approve(batch, turn) for turn in range(batch.approvals)))
        if batch.fate == "stopped":
            await asyncio.sleep(batch.pause)
            await self._cancel(batch)

    async def _make_and_approve(self, batch: PlannedBatch) -> None:
        await asyncio.sleep(self._lateness.choice((0, 3, 9)) * self._lateness.random())
        if not await self._make(batch):
            return
        for _ in range(_LATER_TRIES):
            if await self._approve(batch, 0) == _OK:
                return
            await asyncio.sleep(_LATER_SECONDS)  # Operators may have to correct what they have adopted.

    async def _make(self, batch: PlannedBatch) -> bool:
        items = [{"amount": each.amount, "channel": each.channel, "recipientPhone": each.phone} for each in batch.items]
        merchant = self._accounts[batch.merchant]
        status, answer = await self._until_told(batch, "makes", "", merchant, {"items": items}, batch.key)
        if status == 201:
            self.told[batch.number].ids.append(answer["batch"]["id"])
        return status == 201

    async def _approve(self, batch: PlannedBatch, turn: int) -> int:
        merchant = self._accounts[batch.merchant]
        approver = replace(merchant, key=merchant.approver_key)
        status, _ = await self._until_told(batch, "approves", "/approve", approver, {}, turn=turn)
        if status == _OK:
            self.told[batch.number].approved_at.append(self._world.loop.time())
        return status

    async def _cancel(self, batch: PlannedBatch) -> None:
        merchant = self._accounts[batch.merchant]
        status, answer = await self._until_told(batch, "cancels", "/cancel", merchant, {}, turn=1)
        if status == _OK and answer["batch"]["status"] == "CANCELLED":
            self.told[batch.number].cancelled_at.append(self._world.loop.time())

    async def _until_told(
        self,
        batch: PlannedBatch,
        what: str,
        path: str,
        merchant: SimulatedMerchant,
        body: Any,
        key: str | None = None,
        *,
        turn: int = 0,
    ) -> tuple[int, Any]:
        """Ask until there is an answer that is not the service's own trouble."""
        told = self.told[batch.number]
        at = f"{_PATH}/{told.ids[-1]}{path}" if path else _PATH
        for attempt in range(_TRIES):
            try:
                port = API_PORTS[(batch.number + turn + attempt) % len(API_PORTS)]
                status, answer = await call(port, "POST", at, merchant, body=body, key=key)
            except (OSError, TimeoutError):
                status, answer = 0, None
            for each in batch.items:
                words = f"{what} {batch.key}: {status or 'no answer'}"
                self.acts.append((self._world.loop.time(), each.phone, words))
            if status == 500:
                told.troubles.append(f"{what}: 500")
            if 200 <= status < 500 and status not in (408, 429):
                return status, answer
            await asyncio.sleep(self._chance.uniform(0.3, 2))
        return 0, None

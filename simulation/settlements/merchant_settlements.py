"""Merchants who ask for settlements, some of them twice at once, ask again when they heard nothing, and cancel.

After a restore their programs ask for all of them again under the same keys, and cancel again what they had cancelled.
"""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from simulation.merchants import call
from simulation.settlements.planned import PlannedSettlement
from simulation.template import SimulatedMerchant
from simulation.world import API_PORTS, World

_PATH = "/v1/settlements"
_TRIES = 30
_OK, _CREATED, _INTERNAL_ERROR = 200, 201, 500


@dataclass
class SettlementReplies:
    """What a merchant was told of one settlement."""

    ids: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    acknowledged_at: list[float] = field(default_factory=list)
    cancelled: list[tuple[float, float]] = field(default_factory=list)  # asked and told that it is cancelled
    troubles: list[str] = field(default_factory=list)  # answers that a service must never give
    refusals: list[str] = field(default_factory=list)


class MerchantSettlements:
    def __init__(
        self, world: World, accounts: list[SimulatedMerchant], requests: Sequence[PlannedSettlement], seed: int
    ) -> None:
        self._world = world
        self._accounts = accounts
        self.requests = requests
        self._chance = random.Random(f"merchants of settlements {seed}")
        self.told = {each.number: SettlementReplies() for each in requests}
        self.acts: list[tuple[float, str]] = []  # when, and what

    async def ask_all(self) -> None:
        """What is asked for in the run. The rest is asked for on days after it."""
        await asyncio.gather(*(self._live(each) for each in self.requests if not each.day))

    async def repeat_all(self) -> None:
        await asyncio.gather(*(self._ask_again(each) for each in self.requests if not each.day))

    async def _live(self, wanted: PlannedSettlement) -> None:
        await asyncio.sleep(wanted.at)
        turns = (0, 1) if wanted.is_raced else (0,)
        await asyncio.gather(*(self._ask(wanted, turn) for turn in turns))
        if wanted.cancelled_after is not None:
            await asyncio.sleep(wanted.cancelled_after)
            await self._cancel(wanted)

    async def _ask_again(self, wanted: PlannedSettlement) -> None:
        await asyncio.sleep(self._chance.choice((0.5, 4)) * self._chance.random())
        await self._ask(wanted, 0)
        if self.told[wanted.number].cancelled:
            await self._cancel(wanted)

    async def _ask(self, wanted: PlannedSettlement, turn: int) -> None:
        body = {} if wanted.amount is None else {"amount": wanted.amount}
        status, answer = await self._until_told(wanted, "asks for", _PATH, body, key=wanted.key, turn=turn)
        told = self.told[wanted.number]
        if status == _CREATED:
            told.ids.append(answer["settlement"]["id"])
            told.references.append(answer["settlement"]["reference"])
            told.acknowledged_at.append(self._world.loop.time())
        elif status:
            told.refusals.append(str(answer.get("code", status)))

    async def _cancel(self, wanted: PlannedSettlement) -> None:
        told = self.told[wanted.number]
        if not told.ids:
            return
        asked_at = self._world.loop.time()
        status, answer = await self._until_told(wanted, "cancels", f"{_PATH}/{told.ids[-1]}/cancel", {}, turn=1)
        if status == _OK and answer["settlement"]["status"] == "CANCELLED":
            told.cancelled.append((asked_at, self._world.loop.time()))

    async def _until_told(
        self, wanted: PlannedSettlement, what: str, path: str, body: Any, *, key: str | None = None, turn: int = 0
    ) -> tuple[int, Any]:
        """Ask until there is an answer that is not the service's own trouble."""
        for attempt in range(_TRIES):
            try:
                port = API_PORTS[(wanted.number + turn + attempt) % len(API_PORTS)]
                status, answer = await call(port, "POST", path, self._accounts[wanted.merchant], body=body, key=key)
            except (OSError, TimeoutError):
                status, answer = 0, None
            self.acts.append((self._world.loop.time(), f"{what} {wanted.key}: {status or 'no answer'}"))
            if status == _INTERNAL_ERROR:
                self.told[wanted.number].troubles.append(f"{what}: 500")
            if 200 <= status < 500 and status not in (408, 429):
                return status, answer
            await asyncio.sleep(self._chance.uniform(0.3, 2))
        return 0, None

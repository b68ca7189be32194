"""Merchants who make links, some of them twice at once, ask again when they heard nothing, cancel, and look in the end.

After a restore they make and cancel all of them again under the same keys, as their programs do.
"""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from simulation.links.planned import PlannedLink
from simulation.merchants import call
from simulation.postgres_gate import EPOCH
from simulation.template import SimulatedMerchant
from simulation.world import API_PORTS, World

_PATH = "/v1/links"
_TRIES = 30
_OK, _CREATED, _INTERNAL_ERROR = 200, 201, 500


@dataclass
class LinkReplies:
    """What a merchant was told of one link."""

    ids: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    acknowledged_at: list[float] = field(default_factory=list)
    cancelled: list[tuple[float, float]] = field(default_factory=list)  # asked and told that it is cancelled
    troubles: list[str] = field(default_factory=list)  # answers that a service must never give
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)  # each link as it was shown in the end, by its id


class MerchantLinks:
    def __init__(
        self, world: World, accounts: list[SimulatedMerchant], links: Sequence[PlannedLink], seed: int
    ) -> None:
        self._world = world
        self._accounts = accounts
        self.links = links
        self._chance = random.Random(f"merchants of links {seed}")
        self.told = {link.number: LinkReplies() for link in links}
        self.events_read: dict[int, list[str]] = {}  # the ids of events of links, as the feed has them in the end
        self.acts: list[tuple[float, str]] = []  # when, and what

    async def make_all(self) -> None:
        await asyncio.gather(*(self._live(each) for each in self.links))

    async def repeat_all(self) -> None:
        """After a restore: what was cancelled since the backup is open again."""
        await asyncio.gather(*(self._make_again(each) for each in self.links))

    async def look_in_the_end(self) -> None:
        for link in self.links:
            for id_ in dict.fromkeys(self.told[link.number].ids):
                status, answer = await self._until_told(link, "reads", "GET", f"{_PATH}/{id_}", None)
                if status == _OK:
                    self.told[link.number].seen[id_] = answer["link"]
        for number in sorted({link.merchant for link in self.links}):
            self.events_read[number] = await self._read_events(number)

    async def _read_events(self, number: int) -> list[str]:
        """Only readers who ask for them by name get those of links."""
        read: list[str] = []
        cursor = ""
        for attempt in range(_TRIES):
            path = f"/v1/events?types=link.paid,link.late{f'&after={cursor}' if cursor else ''}"
            try:
                status, page = await call(API_PORTS[attempt % 2], "GET", path, self._accounts[number])
            except (OSError, TimeoutError):
                continue
            if status == _OK:
                read += [each["id"] for each in page["events"]]
                if page["next"] == cursor or not page["events"]:
                    return read
                cursor = page["next"]
        return read

    async def _live(self, link: PlannedLink) -> None:
        await asyncio.sleep(link.at)
        turns = (0, 1) if link.is_raced else (0,)
        await asyncio.gather(*(self._make(link, turn) for turn in turns))
        if link.cancelled_after is not None:
            await asyncio.sleep(link.cancelled_after)
            await self._cancel(link)

    async def _make_again(self, link: PlannedLink) -> None:
        await asyncio.sleep(self._chance.choice((0.5, 4)) * self._chance.random())
        await self._make(link, 0)
        if self.told[link.number].cancelled:
            await self._cancel(link)

    async def _make(self, link: PlannedLink, turn: int) -> None:
        body: dict[str, Any] = {"description": f"Order {link.number}", "reusable": link.is_reusable}
        if link.amount is not None:
            body["amount"] = link.amount
        if link.max_payments is not None:
            body["maxPayments"] = link.max_payments
        if link.expires_after is not None:
            expires = EPOCH + timedelta(seconds=link.at + link.expires_after)
            body["expiresAt"] = expires.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        status, answer = await self._until_told(link, "makes", "POST", _PATH, body, key=link.key, turn=turn)
        if status == _CREATED:
            told = self.told[link.number]
            told.ids.append(answer["link"]["id"])
            told.codes.append(answer["link"]["url"].rpartition("/")[2])
            told.acknowledged_at.append(self._world.loop.time())

    async def _cancel(self, link: PlannedLink) -> None:
        told = self.told[link.number]
        if not told.ids:
            return
        asked_at = self._world.loop.time()
        status, answer = await self._until_told(link, "cancels", "POST", f"{_PATH}/{told.ids[-1]}/cancel", {}, turn=1)
        if status == _OK and answer["link"]["status"] == "CANCELLED":
            told.cancelled.append((asked_at, self._world.loop.time()))

    async def _until_told(
        self,
        link: PlannedLink,
        what: str,
        method: str,
        path: str,
        body: Any,
        *,
        key: str | None = None,
        turn: int = 0,
    ) -> tuple[int, Any]:
        """Ask until there is an answer that is not the service's own trouble."""
        for attempt in range(_TRIES):
            try:
                port = API_PORTS[(link.number + turn + attempt) % len(API_PORTS)]
                status, answer = await call(port, method, path, self._accounts[link.merchant], body=body, key=key)
            except (OSError, TimeoutError):
                status, answer = 0, None
            self.acts.append((self._world.loop.time(), f"{what} {link.key}: {status or 'no answer'}"))
            if status == _INTERNAL_ERROR:
                self.told[link.number].troubles.append(f"{what}: 500")
            if 200 <= status < 500 and status not in (408, 429):
                return status, answer
            await asyncio.sleep(self._chance.uniform(0.3, 2))
        return 0, None

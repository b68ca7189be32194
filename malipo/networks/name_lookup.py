"""Looks up the name behind a phone number: which connector can, a short timeout, a cache of a minute for each asker.

Whatever goes wrong, the answer is an unknown name and never an error: nobody waits for a name to be able to pay. Names
are personal data: nothing here logs one, and none is kept longer than the cache keeps it.
"""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from malipo import log
from malipo.clock import loop_time
from malipo.networks.connector import Channel, Connector, LooksUpNames, Recipient, Type

CACHE_SECONDS = 60
_MOST_CACHED = 10_000
_MOST_AT_ONCE = 8  # look-ups at once for lists; a single look-up does not wait behind them

Number = tuple[Channel, str]


class NameAnswer(msgspec.Struct, frozen=True):
    """The name that a network gave, and when. Without a time the network gave no answer."""

    recipient: Recipient
    checked_at: datetime | None = None


class NameLookup:
    def __init__(
        self,
        connectors: Mapping[str, Connector],
        routes: Mapping[tuple[Channel, Type], str],
        *,
        timeout_seconds: float,
    ) -> None:
        self._timeout_seconds = timeout_seconds
        self._by_channel = {channel: _choose(connectors, routes, channel) for channel in Channel}
        self._cached: dict[tuple[str, Number], tuple[float, NameAnswer]] = {}  # until when, the oldest first
        self._turns = asyncio.Semaphore(_MOST_AT_ONCE)

    def can_look_up(self, channel: Channel) -> bool:
        return self._by_channel[channel] is not None

    def recall(self, whose: str, channel: Channel, phone: str) -> NameAnswer | None:
        """The answer that the same asker got for this number within the last minute."""
        cached = self._cached.get((whose, (channel, phone)))
        return cached[1] if cached is not None and loop_time() < cached[0] else None

    async def look_up(self, whose: str, channel: Channel, phone: str, *, now: datetime) -> NameAnswer:
        connector = self._by_channel[channel]
        if connector is None:
            return NameAnswer(Recipient(code="unavailable"))
        if (recalled := self.recall(whose, channel, phone)) is not None:
            return recalled
        recipient = await self._look_up(connector, channel, phone)
        if recipient.name is None and recipient.is_registered is None:
            return NameAnswer(recipient)  # It is asked again the next time.
        looked = NameAnswer(recipient, now)
        self._keep(whose, (channel, phone), looked)
        return looked

    async def look_up_many(
        self, whose: str, numbers: Iterable[Number], *, seconds: float, now: datetime
    ) -> dict[Number, NameAnswer]:
        """Look up each number once, a few at a time. Numbers that are not answered within `seconds` are missing."""
        found: dict[Number, NameAnswer] = {}
        waiting = iter(dict.fromkeys(numbers))

        async def take() -> None:
            for number in waiting:
                async with self._turns:
                    found[number] = await self.look_up(whose, *number, now=now)

        try:
            async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
                for _ in range(_MOST_AT_ONCE):
                    group.create_task(take())
        except TimeoutError:
            log.info("recipients.lookup_ended", reason="no more time", found=len(found))
        return found

    async def _look_up(self, connector: LooksUpNames, channel: Channel, phone: str) -> Recipient:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await connector.look_up(channel, phone)
        except TimeoutError:
            return Recipient(code="timeout")
        except Exception as error:
            # A bug of a connector must not keep anybody from paying.
            log.warning("recipient.lookup_broke", channel=channel, error=type(error).__name__)
            return Recipient(code="broke")

    def _keep(self, whose: str, number: Number, looked: NameAnswer) -> None:
        now = loop_time()
        self._cached.pop((whose, number), None)
        self._cached[whose, number] = (now + CACHE_SECONDS, looked)
        if self._cached[next(iter(self._cached))][0] <= now:  # names are personal: none is kept too long
            self._cached = {key: kept for key, kept in self._cached.items() if kept[0] > now}
        for oldest in list(self._cached)[: max(len(self._cached) - _MOST_CACHED, 0)]:
            del self._cached[oldest]


def _choose(
    connectors: Mapping[str, Connector], routes: Mapping[tuple[Channel, Type], str], channel: Channel
) -> LooksUpNames | None:
    """The connector that carries the channel's payouts, if it can look up names; otherwise the first that can."""
    carrier = routes.get((channel, Type.DISBURSEMENT))
    by_preference = sorted(connectors, key=lambda name: name != carrier)
    return next(
        (
            connector
            for name in by_preference
            if isinstance(connector := connectors[name], LooksUpNames) and connector.looks_up(channel)
        ),
        None,
    )

"""The float reader: queries each network every few minutes for the balance of our account, and stores it.

It has its own loop and its own calls, so that payments never wait for it. An answer that cannot be parsed changes
nothing; the next turn queries again.
"""

import asyncio
from datetime import timedelta
from typing import NamedTuple

from malipo import clock as clocks
from malipo import log
from malipo.clock import Clock
from malipo.db import Conn, Tx
from malipo.db.queries import Queries
from malipo.floats import store
from malipo.floats.position import FloatReading, Source
from malipo.networks.connector import Balance, Channel, Connector, ReadsBalance, Type
from malipo.networks.routing import Networks
from malipo.settings import Settings
from malipo.worker.loop_health import LoopHealth
from malipo.worker.poll_loop import RARE_LOOK_SECONDS, run_forever, step_seconds

_MARGIN_SECONDS = 5.0
# After another worker's query, this one waits for at least this share of the interval.
_RECENT_SHARE = 0.9


class PayingAccount(NamedTuple):
    channel: Channel
    account: str
    is_shared: bool


def paying_accounts(networks: Networks, name: str) -> list[PayingAccount]:
    """The accounts that a connector pays out of: one for each channel. An aggregator uses the same account for all."""
    channels = [channel for channel, type_ in networks.carried_by(name) if type_ is Type.DISBURSEMENT]
    return [PayingAccount(each, networks.account_name(name, each), len(channels) > 1) for each in channels]


def float_readers(networks: Networks, queries: Queries, settings: Settings, clock: Clock) -> list["FloatReader"]:
    """One reader for each network that pays out and has a call for the balance."""
    if not settings.float_reading_seconds:
        return []
    readers = [FloatReader(each, networks, queries, settings, clock) for each in networks.connectors.values()]
    return [each for each in readers if each.accounts]


class FloatReader:
    def __init__(
        self, connector: Connector, networks: Networks, queries: Queries, settings: Settings, clock: Clock
    ) -> None:
        self.name = connector.name
        self._connector = connector
        self._queries = queries
        self._step_seconds = step_seconds(settings)
        self._clock = clock
        self._every_seconds = settings.float_reading_seconds
        self._due_at = 0.0  # by the monotonic clock; 0: now
        self.accounts: list[PayingAccount] = []
        if isinstance(connector, ReadsBalance):
            self.accounts = paying_accounts(networks, connector.name)

    async def run(self, loops: LoopHealth) -> None:
        """Run until cancelled."""
        seconds = self._connector.timeout_seconds + _MARGIN_SECONDS + self._step_seconds
        look_seconds = min(self._every_seconds / 20, RARE_LOOK_SECONDS)
        await run_forever(
            "float_reading", self.step, seconds=seconds, look_seconds=look_seconds, loops=loops, route=self.name
        )

    async def step(self) -> bool:
        """Query the balance, if it is time and no other worker has done so."""
        if clocks.monotonic() < self._due_at:
            return False
        self._due_at = clocks.monotonic() + self._every_seconds
        since = self._clock() - timedelta(seconds=self._every_seconds * _RECENT_SHARE)
        first = self.accounts[0]

        async def is_read(connection: Conn) -> bool:
            return await store.is_read_since(connection, first.channel, first.account, since)

        if not await self._queries.read(is_read):
            await self.read_and_store()
        return False

    async def read_and_store(self) -> None:
        balance = await self._query_balance()
        amount = balance.amount
        if amount is None:
            log.warning("float.not_read", route=self.name, code=balance.code, detail=balance.detail)
            return
        now, by = self._clock(), f"network {self.name}"

        async def note(tx: Tx) -> None:
            readings = [
                FloatReading(each.channel, each.account, amount, Source.NETWORK, now, by, each.is_shared)
                for each in self.accounts
            ]
            await store.insert(tx, readings)

        await self._queries.write(note)

    async def _query_balance(self) -> Balance:
        assert isinstance(self._connector, ReadsBalance)
        try:
            async with asyncio.timeout(self._connector.timeout_seconds + _MARGIN_SECONDS):
                return await self._connector.balance()
        except TimeoutError:
            return Balance(code="lost", detail="no answer in time")

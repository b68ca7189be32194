"""The collector: queries the database every few seconds, and sets the gauges. A scrape reads only the last values, so
scrapes cost the database nothing.

If the database does not answer, the gauges stay as they were, and the time of the last look shows how old they are.
"""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import product

from malipo import log
from malipo.clock import Clock, loop_time
from malipo.db import Conn, ConnectionLost, Contention, Database, DiskFull, ReadOnly
from malipo.db.schema import migrations
from malipo.db.schema_monitor import BeingUpgraded, SchemaMonitor
from malipo.db.write_check import WriteCheck
from malipo.errors import Unavailable
from malipo.floats import store as float_store
from malipo.metrics.money_gauges import MoneyGauges
from malipo.monitoring import gauges_store
from malipo.monitoring.disk_space import find_space
from malipo.networks.connector import Channel, Type
from malipo.networks.routing import find_unconnected
from malipo.reconciliation.close.safeguarding import BankSeen, safeguarding_of, with_bank
from malipo.reconciliation.close.store import closes
from malipo.settings import Settings

# What the bank's statements say: of a room beside this one (`bank/balance.py`).
FindBank = Callable[[Conn], Awaitable[BankSeen | None]]

OFTEN_SECONDS = 15.0
RARELY_SECONDS = 300.0
_PATIENCE_SECONDS = 10.0

_PAIRS = [(str(channel), str(type_)) for channel, type_ in product(Channel, Type)]
_CHANNELS = [(str(channel),) for channel in Channel]
_KINDS = [("review",), ("late",), ("closed_merchant",), ("not_connected",), ("contradicted",)]


class Collector:
    def __init__(
        self,
        database: Database,
        gauges: MoneyGauges,
        settings: Settings,
        clock: Clock,
        schema: SchemaMonitor,
        find_bank: FindBank,
    ) -> None:
        self._database = database
        self._schema = schema
        self._gauges = gauges
        self._settings = settings
        self._clock = clock
        self._find_bank = find_bank
        self._writes = WriteCheck(database)
        self._rarely_at: float | None = None  # by the event loop's clock
        self._ledger_floats: dict[str, int] | None = None
        gauges.set("code_schema", migrations()[-1].number)
        gauges.set("ledger_check_interval_seconds", settings.ledger_check_seconds)
        gauges.set("float_reading_interval_seconds", settings.float_reading_seconds)
        self._unconnected = find_unconnected(settings)
        for route in product(Channel, Type):
            gauges.set("channel_connected", route not in self._unconnected, *route)
        for look in ("often", "rarely"):  # No query has succeeded yet: infinitely old.
            gauges.set("money_seen_timestamp_seconds", 0, look)
        for channel, low in settings.float_low:
            gauges.set("float_low_shillings", low, channel)

    async def watch(self) -> None:
        """Run until cancelled, the first time at once."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch_disks())
            while True:
                await self.look()
                await asyncio.sleep(OFTEN_SECONDS)

    async def _watch_disks(self) -> None:
        while True:
            await self.look_at_disks()
            await asyncio.sleep(OFTEN_SECONDS)

    async def look_at_disks(self) -> None:
        """Look at the disks in a thread, so that a disk that hangs does not delay the queries of the database."""
        for disk, space in (await asyncio.to_thread(find_space, self._settings)).items():
            self._gauges.set("disk_free_bytes", space.free, disk)
            self._gauges.set("disk_size_bytes", space.size, disk)

    async def look(self) -> None:
        """Query once. While the database is away, the gauges keep their last values."""
        self._gauges.set("database_writable", await self._takes_writes())
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self._look_often()
                await self._look_rarely()
                await self._look_at_floats()
        except (ConnectionLost, Contention, Unavailable, TimeoutError) as error:
            self._gauges.set("database_up", 0)
            log.debug("monitoring.not_seen", reason=str(error))
        except Exception as error:
            if not isinstance(await self._schema.explain(error), BeingUpgraded):  # the schema's monitor logs it
                log.error("monitoring.look_broke", error)
        else:
            self._gauges.set("database_up", 1)

    async def _takes_writes(self) -> bool:
        """Whether the database accepts writes: not if it is away, read-only or full. The log and `/readyz` say
        which."""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self._writes.require()
        except (ConnectionLost, Contention, Unavailable, TimeoutError) as error:
            if isinstance(error, DiskFull | ReadOnly):
                log.warning("database.not_writable", reason=str(error))
            return False
        return True

    async def _look_often(self) -> None:
        async with self._database.snapshot() as connection:
            await gauges_store.prepare(connection)
            queues = await gauges_store.find_queues(connection)
            unsettled = await gauges_store.find_unsettled(
                connection,
                unsettled_seconds=self._settings.unsettled_seconds,
                unconnected_payouts=[channel for channel, type_ in self._unconnected if type_ is Type.DISBURSEMENT],
            )
            counting = await gauges_store.find_counting_backlog(connection)
            alone = await gauges_store.find_backlogs(connection) | await gauges_store.find_ledger_check(connection)
            alone |= await gauges_store.find_archiving(connection)
            if self._settings.receipt_log != "off":
                alone |= await gauges_store.find_receipt_log(connection)
            if self._settings.smtp_url is not None:
                alone |= await gauges_store.find_messages(connection)
        set_each = self._gauges.set_each
        set_each("pending_oldest_seconds", {(each.channel, each.type): each.oldest_seconds for each in queues}, _PAIRS)
        set_each("send_backlog", {(each.channel, each.type): each.to_send for each in queues}, _PAIRS)
        set_each("query_backlog", {(each.channel, each.type): each.to_query for each in queues}, _PAIRS)
        set_each("unsettled_payments", {(each.kind,): each.payments for each in unsettled}, _KINDS)
        set_each("unsettled_shillings", {(each.kind,): each.amount for each in unsettled}, _KINDS)
        set_each("unsettled_oldest_seconds", {(each.kind,): each.oldest_seconds for each in unsettled}, _KINDS)
        set_each("counting_backlog", counting, ())
        self._gauges.set_all(alone)
        self._seen("often")

    async def _look_rarely(self) -> None:
        """Queries whose cost grows with the installation. The values change slowly, so they may be some minutes old."""
        now = loop_time()
        if self._rarely_at is not None and now < self._rarely_at:
            return
        async with self._database.snapshot() as connection:
            await gauges_store.prepare(connection)
            sums = await gauges_store.find_sums(connection) | await gauges_store.find_bank(connection)
            floats = self._ledger_floats = await float_store.find_ledger_floats(connection)
            closed = await closes.find_latest(connection, limit=1)
            bank = await self._find_bank(connection)
        self._gauges.set_all(sums)
        self._gauges.set_each("float_shillings", {(each,): amount for each, amount in floats.items()}, _CHANNELS)
        if closed:
            cover = with_bank(safeguarding_of(closed[0].close), bank)
            self._gauges.set("safeguarding_difference_shillings", cover.difference)
            self._gauges.set("safeguarding_unexplained_shillings", cover.unexplained)
        self._rarely_at = now + RARELY_SECONDS
        self._seen("rarely")

    async def _look_at_floats(self) -> None:
        """Runs often, because payouts in flight change quickly; uses the last computed sums of the ledger's floats."""
        async with self._database.snapshot() as connection:
            await gauges_store.prepare(connection)
            positions = await float_store.find_positions(connection, ledger=self._ledger_floats)
            latest = await float_store.find_latest(connection)
        now, set_ = self._clock(), self._gauges.set
        for each in positions:
            set_("float_in_flight_shillings", each.in_flight, each.channel)
            set_("float_cover_shillings", each.cover(now), each.channel)
            if each.reading is not None:
                set_("float_reading_shillings", each.reading, each.channel)
        ages: dict[tuple[str, str], float] = {}
        for reading in latest:
            where, age = (reading.channel, str(reading.source)), (now - reading.read_at).total_seconds()
            ages[where] = max(age, ages.get(where, 0.0))
        for (channel, source), age in ages.items():
            set_("float_reading_age_seconds", age, channel, source)

    def _seen(self, look: str) -> None:
        self._gauges.set("money_seen_timestamp_seconds", self._clock().timestamp(), look)

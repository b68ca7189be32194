"""One run: a plan, a world, and the findings of the oracle at the end."""

import asyncio
import gc
import random
import shutil
import tempfile
import time
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg.connection

from malipo import log
from malipo.table_files import rows
from malipo_simulator.credentials import Keys
from simulation.batches.merchant_batches import MerchantBatches
from simulation.batches.planned import batches_of
from simulation.blocking_connection import LockMonitor
from simulation.database import SimulatedDatabase
from simulation.event_loop import SimulatedLoop
from simulation.faults import Faults
from simulation.history import History
from simulation.links.customers import PROCESS as CUSTOMERS
from simulation.links.customers import Customers
from simulation.links.link_oracle import LinkOracle
from simulation.links.merchant_links import MerchantLinks
from simulation.memory_network import MemoryNetwork
from simulation.merchants import FEED_SECONDS, Merchants
from simulation.networks_book import Book
from simulation.operators import Operators
from simulation.oracle import Oracle, OracleFinding
from simulation.plan import FAULT_SECONDS, LOSING, Plan, twins_of
from simulation.postgres_gate import EPOCH, PostgresGate
from simulation.receipts import receipt_oracle
from simulation.receipts.receipt_oracle import ReceiptOracle
from simulation.receipts.witness import PROCESS as WITNESS
from simulation.receipts.witness import Witness
from simulation.receivers import Receivers
from simulation.reconciling.adoptions import PROCESS as OPERATORS
from simulation.reconciling.adoptions import Adoptions
from simulation.reconciling.finance import Finance
from simulation.reconciling.merchants_records import Wishes
from simulation.reconciling.statement_files import StatementFiles, read_here
from simulation.safeguard_list import remove_safeguard
from simulation.settlements.days import BankDays
from simulation.settlements.merchant_settlements import MerchantSettlements
from simulation.settlements.treasury import PROCESS as TREASURY
from simulation.settlements.treasury import Treasury
from simulation.statements import reconcile
from simulation.story import Story
from simulation.template import Server, SimulatedMerchant
from simulation.world import World

MERCHANTS = "merchants"
_MOST_SECONDS = 200.0
_LOOK_SECONDS = 2.0
_QUIET_LOOKS = 4  # in a row: operators, and readers of the feed, come round in that time
_LISTED_SECONDS = 30  # So old, a payment that no network ends is shown to operators.
_NETWORK_SPEED = 4.0


@dataclass
class Result:
    seed: int
    findings: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)  # that happened
    payments: int = 0
    digest: str = ""
    seconds: float = 0.0  # of virtual time
    real_seconds: float = 0.0
    exchanges: int = 0
    blocks: int = 0
    reached: list[str] = field(default_factory=list)  # of the safeguards that are watched
    story: list[str] = field(default_factory=list)
    lines: list[str] | None = None


@dataclass(frozen=True)
class SharedParts:
    """What all runs share."""

    accounts: list[SimulatedMerchant]
    keys: dict[str, Keys]
    folder: Path  # for what runs leave behind


def run(
    plan: Plan, site: SharedParts, server: Server, *, name: str, keeps_lines: bool = False, tells_story: bool = False
) -> Result:
    """In a process of its own: what a run leaves behind is never cleaned up."""
    gc.disable()
    _remember_types()
    rows._read = read_here
    began = time.monotonic()
    asyncpg.connection._uid = 0  # type: ignore[attr-defined]  # The names of prepared statements are counted there.
    history = History(keeps_lines=keeps_lines)
    database = SimulatedDatabase(server, name)
    gate = PostgresGate(LockMonitor(server.connect()))
    database.join(gate)
    loop = SimulatedLoop(random.Random(f"turns {plan.seed}"), gate, MemoryNetwork(), history)
    asyncio.set_event_loop(loop)
    loop.set_exception_handler(lambda _, context: log.error("loop_broke", context.get("exception"), **_words(context)))
    states = Path(tempfile.mkdtemp(prefix="states-", dir=site.folder))
    result = Result(plan.seed, payments=len(plan.payments))
    try:
        main = _Run(plan, site, loop, database, states)
        loop.run_until_complete(main.go())
        main.findings += reconcile(main.world, main.book, main.finance, main.wishes, site.accounts, main.operators)
        main.findings += main.live_on()
        result.findings = [str(each) for each in main.findings]
        result.faults = [str(fault) for _, fault in main.faults.happened]
        if tells_story or main.findings:
            story = Story(
                main.world,
                database,
                main.book,
                main.merchants,
                main.customers,
                main.operators,
                main.faults,
                main.acts_of_settlements(),
            )
            result.story = story.tell([each.transaction_id for each in main.findings if each.transaction_id])
    finally:
        result.digest, result.lines = history.digest, history.lines
        result.seconds, result.real_seconds = loop.time(), time.monotonic() - began
        result.exchanges, result.blocks = gate.exchanges, gate.blocks
        result.reached = sorted(remove_safeguard.reached)
        gate.close()
        shutil.rmtree(states, ignore_errors=True)
        database.drop()
    return result


def _remember_types() -> None:
    """What the driver asks about a type, it asks on every connection. In a run, the first answer is every answer."""
    connection: Any = asyncpg.connection.Connection
    introspect, known = connection._introspect_types, {}

    async def remembered(self: Any, oids: Any, seconds: Any) -> Any:
        key = frozenset(oids)
        if key not in known:
            known[key] = await introspect(self, oids, seconds)
        return known[key]

    connection._introspect_types = remembered


def _words(context: dict[str, Any]) -> dict[str, Any]:
    return {"message": str(context.get("message"))}


class _Run:
    def __init__(
        self, plan: Plan, site: SharedParts, loop: SimulatedLoop, database: SimulatedDatabase, states: Path
    ) -> None:
        self._plan = plan
        self._loop = loop
        self._database = database
        self.world = World(loop, database.url, plan, site.keys, states)
        self.world.simulator.network.control.change({"speed": _NETWORK_SPEED, "seed": plan.seed})
        self.book = Book(self.world.simulator.network)
        planned = batches_of(plan)
        self.merchants = Merchants(self.world, site.accounts, plan.payments, twins_of(plan), plan.seed)
        self.batches = MerchantBatches(self.world, site.accounts, planned, plan.seed)
        self._links = MerchantLinks(self.world, site.accounts, plan.links, plan.seed)
        self.customers = Customers(self.world, self._links, plan.links, plan.seed)
        self._witness = Witness(database)
        self._receivers = Receivers(self.world, site.accounts, database)
        files = StatementFiles(self.world.simulator.network.memory, plan.seed, states)
        self.finance = Finance(self.world, plan, files)
        self.wishes = Wishes(plan, planned, self.book)
        self.adoptions = Adoptions(plan, self.world, database, site.accounts, self.wishes, self.finance)
        self.operators = Operators(self.world, site.accounts, self.book, self.adoptions)
        self.faults = Faults(plan, self.world, database, self.operators)
        self._oracle = Oracle(
            plan,
            site.accounts,
            self.world,
            database,
            self.book,
            self.merchants,
            self.batches,
            self._receivers,
            self.operators,
            LinkOracle(plan, site.accounts, self._links, self.customers, database, self.book, self.operators.mistaken),
            ReceiptOracle(plan.seed, site.accounts, database, self._witness),
        )
        self._settlements: MerchantSettlements | None = None
        if plan.settlements is not None:
            self._settlements = MerchantSettlements(self.world, site.accounts, plan.settlements.requests, plan.seed)
            self.treasury = Treasury(plan.settlements, site.accounts, self.world.simulator.bank, states)
        self._accounts = site.accounts
        self._has_loss = any(fault.kind in LOSING for fault in plan.faults)
        self.findings: list[Any] = []

    async def go(self) -> None:
        loop, chance = self._loop, random.Random(f"latency {self._plan.seed}")
        loop.gate.latency = lambda: chance.choice((0.0, 0.0, 0.0005, 0.002, 0.01))
        loop.network.latency = lambda: chance.choice((0.0005, 0.001, 0.05))
        for number in (1, 2):
            self.world.start_api(number)
        for number in range(1, self._plan.workers + 1):
            self.world.start_worker(number)
        await self.operators.open()
        loop.start(OPERATORS, self.operators.work())
        if self._has_loss:
            loop.start(OPERATORS, self.operators.adopt())
        paying = loop.start(MERCHANTS, self.merchants.pay_all())
        batching = loop.start(MERCHANTS, self.batches.make_all())
        for number in (0, 1):
            loop.start(MERCHANTS, self.merchants.read_feed(number))
        coming = self._begin_links() if self._plan.has_customers else []
        if self._settlements is not None:
            await self.treasury.open(self.world.url)
            coming.append(loop.start(MERCHANTS, self._settlements.ask_all()))
            loop.start(TREASURY, self.treasury.work())
        await asyncio.sleep(FAULT_SECONDS / 2)
        await self._oracle.look_at_the_ledger()
        await asyncio.sleep(FAULT_SECONDS / 2 + 3)
        if self._database.brought_back_at is not None:
            repeating = loop.start(MERCHANTS, self.merchants.repeat_all())
            await batching
            await loop.start(MERCHANTS, self.batches.repeat_all())
            await repeating
            if self._plan.has_customers:
                await loop.start(MERCHANTS, self._links.repeat_all())
                await loop.start(CUSTOMERS, self.customers.come_again_all())
            if self._settlements is not None:
                await loop.start(MERCHANTS, self._settlements.repeat_all())
        self.operators.is_lost_time_compared = self.adoptions.are_repeats_over = True
        self.merchants.is_everybody_back = True
        await paying
        await batching
        for each in coming:
            await each
        if self._settlements is not None:
            self.treasury.is_closed = True
        self.world.poll_rarely()
        while True:
            await self._until_quiet()
            await asyncio.sleep(FEED_SECONDS + 1)  # Every reader of a feed looks once more.
            if self._plan.has_customers:
                await loop.start(MERCHANTS, self._links.look_in_the_end())
                await loop.start(CUSTOMERS, self.customers.look_in_the_end())
            if self._is_quiet() or loop.time() >= _MOST_SECONDS:  # An operator may have acted meanwhile.
                break
        self.findings = await self._oracle.ask()

    def acts_of_settlements(self) -> list[tuple[float, str]]:
        if self._settlements is None:
            return []
        acts = [((at - EPOCH).total_seconds(), f"treasurer  {what}") for at, what in self.treasury.acts]
        return acts + [(at, f"merchant   {what}") for at, what in self._settlements.acts]

    def live_on(self) -> list[OracleFinding]:
        """The days after, on which settlements are paid."""
        if self._plan.settlements is None or self._settlements is None:
            return []
        begin, end = self._database.backed_up_at, self._database.brought_back_at
        lost = None if begin is None or end is None else (begin, end)
        told, settings = self._settlements.told, self.world.settings
        days = BankDays(
            self._plan.settlements, self._accounts, self._database, settings, self.treasury, told, lost=lost
        )
        return [OracleFinding(*each) for each in days.go()]

    def _begin_links(self) -> list[Any]:
        self._loop.start(WITNESS, self._witness.watch())
        making = self._loop.start(MERCHANTS, self._links.make_all())
        return [making, self._loop.start(CUSTOMERS, self.customers.come_all())]

    async def _until_quiet(self) -> None:
        quiet_looks = 0
        while quiet_looks < _QUIET_LOOKS and self._loop.time() < _MOST_SECONDS:
            await asyncio.sleep(_LOOK_SECONDS)
            quiet_looks = quiet_looks + 1 if self._is_quiet() else 0

    def _is_quiet(self) -> bool:
        """Nothing is under way, and nothing will be asked about by itself."""
        if not self._loop.gate.is_up or (self._database.brought_back_at is not None and not self.adoptions.is_done):
            return False
        now = (EPOCH + timedelta(seconds=self._loop.time())).isoformat()
        [[count]] = self._database.look().ask(
            f"""
            SELECT (SELECT count(*) FROM dispatches d
                    JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
                    WHERE d.attention IS NULL AND (t.ended_at IS NOT NULL OR t.processing_at IS NULL
                        OR t.processing_at > timestamptz '{now}' - interval '{_LISTED_SECONDS} seconds'))
                 + (SELECT count(*) FROM events WHERE feed_number IS NULL)
                 + (SELECT count(*) FROM link_events WHERE feed_number IS NULL)
                 + (SELECT count(*) FROM link_attempts a
                    JOIN transactions t ON t.merchant_id = a.merchant_id AND t.id = a.transaction_id
                    WHERE NOT a.is_counted AND t.ended_at IS NOT NULL)
                 + (SELECT count(*) FROM webhook_deliveries WHERE state = 'PENDING')
                 + (SELECT count(*) FROM batches b WHERE b.status = 'RUNNING' AND NOT EXISTS (
                        SELECT FROM transactions t
                        WHERE t.merchant_id = b.merchant_id AND t.batch_id = b.id AND t.ended_at IS NULL))
                 + (SELECT count(*) FROM installation WHERE fenced_at IS NOT NULL OR held_at IS NOT NULL)
            """
        )
        if self._plan.has_customers and receipt_oracle.count_open(self._database):
            return False
        return count == "0"

"""The worker stack: a merchant with a database of its own, and shared simulated networks. No API, so no callbacks.

It costs a tenth of a second, so that a test can have one for each way in which a worker may die.
"""

import dataclasses
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import aiohttp
from msgspec.structs import replace

from malipo.app.assemble import Service, assemble
from malipo.cli import simulator_setup
from malipo.db import Database
from malipo.networks.connector import Channel
from malipo.payments.transaction import Type
from malipo.settings import Settings
from malipo.settings.environment import read
from tests import fork_server
from tests.conftest import PATIENCE_SECONDS, Merchant, make_merchant
from tests.journeys import database_facts
from tests.journeys.concurrency import order
from tests.journeys.full_stack import HURRY, until
from tests.simulator.processes import Sim
from tests.simulator.processes import start as start_simulator

WALLET = 1_000_000
PREFIXES = {"MPESA": "+255754", "AIRTEL_MONEY": "+255684"}

# The first queries come at once.
AT_ONCE: dict[str, Any] = HURRY | {
    "database_pool": 4,  # Many workers share one server, which takes a hundred connections.
    "poll_seconds": "0,0,0,1,0,0,1,0,0,1",
    "not_found_seconds": 1,
    "log_level": "warning",
}


@asynccontextmanager
async def networks(*, speed: float = 20) -> AsyncIterator[Sim]:
    """The simulated networks alone."""
    simulator = start_simulator("--speed", str(speed))
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            yield Sim(http, simulator.url, await simulator_setup.credentials(simulator.url))
    finally:
        simulator.stop()


class Place(Protocol):
    """Where a worker can be started."""

    @property
    def environment(self) -> dict[str, str]: ...


@dataclass
class WorkerStack:
    sim: Sim
    merchant: Merchant
    database: Database
    direct_url: str
    database_url: str  # where workers find it, which may be elsewhere
    environment: dict[str, str]
    settings: Settings
    service: Service

    async def take(self, channel: str, type_: str, phone: str, amount: int = 1000) -> str:
        """A payment, taken in as the API does it; its id."""
        asked = order(self.merchant.id, Type(type_), amount, channel=Channel(channel))
        assert asked.draft is not None
        initiated = await self.service.payments.initiate(replace(asked, draft=replace(asked.draft, phone=phone)))
        return initiated.transaction.id

    async def take_four(self, middle: str, *, row: str = "001") -> None:
        """A collection and a payout on each of two networks; `middle` are two digits that nobody else uses."""
        for channel, prefix in PREFIXES.items():
            await self.take(channel, "COLLECTION", f"{prefix}{middle}0{row}", 1100)
            await self.take(channel, "DISBURSEMENT", f"{prefix}{middle}1{row}", 1200)

    async def rows(self) -> dict[str, dict[str, Any]]:
        """Every payment, with what is still to be done about it."""
        async with self.database.read() as connection:
            rows = await connection.fetch(
                """
                SELECT t.id, t.type, t.channel, t.status, t.phone, t.amount, t.network_key, t.failure_code,
                       d.next_action, d.send_count, d.not_found_count, d.not_indexed_count, d.attention, d.is_acknowledged
                FROM transactions t LEFT JOIN dispatches d ON d.transaction_id = t.id ORDER BY t.id
                """
            )
        return {row["id"]: dict(row) for row in rows}

    async def until_all_ended(self, *, seconds: float = PATIENCE_SECONDS) -> None:
        async def have() -> bool:
            return all(row["status"] in ("COMPLETED", "FAILED", "CANCELLED") for row in (await self.rows()).values())

        await until(have, seconds=seconds, what="the end of every payment")

    async def end_leases(self) -> None:
        """Of a worker that is dead: nobody waits until they end by themselves."""
        async with self.database.begin() as tx:
            await tx.execute("UPDATE dispatches SET due_at = now() WHERE due_at > now()")

    async def requests(self) -> Counter[str]:
        """How often each payment was asked for on the wire, by its key, whatever became of the request."""
        seen = await self.sim("GET", "/api/seen?limit=2000")
        bodies = [each["body"] for each in seen if each["direction"] == "in" and each["method"] == "POST"]
        keys = [row["network_key"] for row in (await self.rows()).values()]
        return Counter({key: sum(key in body for body in bodies) for key in keys})

    async def are_on_their_way(self) -> bool:
        """Whether each was asked for once."""
        return set((await self.requests()).values()) == {1}

    async def have_moved(self) -> bool:
        """Whether the network has moved the money of all."""
        keys = {row["network_key"] for row in (await self.rows()).values()}
        return keys <= {each["reference"] for each in (await self.sim("GET", "/api/book"))["movements"]}

    async def make_commits_slow(self, event: str, condition: str) -> None:
        """Let the server work for a while inside the COMMIT of whoever does this."""
        async with self.database.begin() as tx:
            await tx.execute(
                f"""
                CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END';
                CREATE CONSTRAINT TRIGGER slow AFTER {event} DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION dawdle();
                """
            )

    async def assert_each_was_sent_once(self) -> None:
        requests = await self.requests()
        assert set(requests.values()) == {1}, (requests, await self.rows())
        assert {row["status"] for row in (await self.rows()).values()} == {"COMPLETED"}
        await self.assert_books_agree()

    async def assert_books_agree(self) -> None:
        """Each phone was charged or paid exactly once, or not at all, as its payment says; and the audit is clean."""
        moved: dict[str, list[tuple[str, int]]] = {}
        for each in (await self.sim("GET", "/api/book"))["movements"]:
            moved.setdefault(each["reference"], []).append((each["kind"], each["amount"]))
        for row in (await self.rows()).values():
            kind = "charged" if row["type"] == "COLLECTION" else "paid"
            expected = [(kind, row["amount"])] if row["status"] == "COMPLETED" else []
            assert moved.get(row["network_key"], []) == expected, row
        await database_facts.assert_clean(self.database)


@asynccontextmanager
async def worker_stack(
    sim: Sim, database_url: str, *, via: str | None = None, **settings: Any
) -> AsyncIterator[WorkerStack]:
    """`via` is where its workers find the database, if not where it is."""
    variables = simulator_setup.environment(sim.url, sim.credentials)
    variables |= {f"MALIPO_{name.upper()}": str(value) for name, value in (AT_ONCE | settings).items()}
    variables["MALIPO_DATABASE_URL"] = via or database_url
    read_settings = read(variables)
    async with Database.opened(database_url, size=10, connect_seconds=PATIENCE_SECONDS) as database:
        # The test chooses the patience of the workers; the service that creates payments has plenty.
        service = assemble(dataclasses.replace(read_settings, database_patience_seconds=120), database)
        merchant = await make_merchant(database, wallet=WALLET)
        yield WorkerStack(sim, merchant, database, database_url, via or database_url, variables, read_settings, service)
        await service.finish()


@dataclass
class CrashingWorker:
    """A worker process that a signal will meet; see `crashing_worker.py`."""

    process: fork_server.Child
    log: Path

    @property
    def is_stopped(self) -> bool:
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "T"

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def has_got(self, number: int) -> bool:
        """Whether this signal, which was sent to it, has reached it: what it gets from now on comes after the signal."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        waiting = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith(("SigPnd:", "ShdPnd:"))]
        return not any(mask >> (number - 1) & 1 for mask in waiting)


@contextmanager
def a_crashing_worker(
    place: Place,
    folder: Path,
    *,
    point: str = "never",
    number: int = 1,
    signal: str = "KILL",
    lease_seconds: float = 60,  # On a busy machine a short one ends before anything is sent.
) -> Iterator[CrashingWorker]:
    with _running(
        place, folder, "tests.journeys.crashing_worker", point, str(number), signal, str(lease_seconds)
    ) as worker:
        yield worker


@contextmanager
def a_real_worker(place: Place, folder: Path) -> Iterator[CrashingWorker]:
    """`malipo worker`, with nothing of a test in it."""
    with _running(place, folder, "malipo", "worker") as worker:
        yield worker


@contextmanager
def _running(place: Place, folder: Path, *command: str) -> Iterator[CrashingWorker]:
    log = folder / f"{'-'.join(command)}.log"
    with log.open("wb") as output:
        environment = {"PATH": os.environ["PATH"], **place.environment}
        process = fork_server.run_module(*command, env=environment, stdout=output, stderr=output)
    try:
        yield CrashingWorker(process, log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(240)

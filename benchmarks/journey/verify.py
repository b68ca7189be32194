"""Verifies `bench journey`: malipo, the simulator and the receiver must agree on every payment.

The database's transactions, wallets and events, the network's own book of whom it charged, and the log of nginx, which
stands for the merchants' servers. What is only counted while a load runs is read from nginx's log alone.
"""

import asyncio
import http.client
import time
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import msgspec

from benchmarks import database
from benchmarks.load import CannotMeasure
from benchmarks.measured_processes import Postmaster

_LOOK_SECONDS = 0.1
_PATIENCE_SECONDS = 60.0
_PAYMENTS = """
    SELECT t.network_key AS key, t.merchant_id AS merchant, t.status, t.amount, t.amount - t.fee AS net,
           e.id AS event, extract(epoch FROM t.created_at)::float8 AS at
    FROM merchants m
    CROSS JOIN LATERAL (SELECT * FROM transactions WHERE merchant_id = m.id AND id >= $2) t
    LEFT JOIN events e ON e.merchant_id = t.merchant_id AND e.transaction_id = t.id AND e.event = 'payment.completed'
    WHERE m.id <= $1
"""
# By merchant, so that what they had before is not read.
_CREATED = """
    SELECT sum(made.count) FROM merchants m
    CROSS JOIN LATERAL (SELECT count(*) FROM transactions WHERE merchant_id = m.id AND id >= $2) made WHERE m.id <= $1
"""


class _Movement(msgspec.Struct):
    kind: str
    amount: int
    reference: str


class _Book(msgspec.Struct):
    movements: list[_Movement]


@dataclass(frozen=True, slots=True)
class Payment:
    key: str  # as the network knows it
    merchant: str
    status: str
    amount: int
    net: int
    event: str | None  # that it is completed
    at: float  # when it was created, in seconds since 1970


class Arrivals:
    """The webhooks that came, by nginx's log: when each event first did, and how often one did again."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._read = 0  # bytes of it
        self.first: dict[tuple[str, str], float] = {}  # by merchant and event
        self.duplicates = 0

    def count_new(self) -> None:
        """Take note of what has been logged since the last time."""
        with self._log.open("rb") as log:
            log.seek(self._read)
            lines = log.read().split(b"\n")
        lines.pop()  # What follows the last line's end is half a line: the rest of it comes later.
        self._read += sum(len(line) + 1 for line in lines)
        for line in lines:
            at, path, event, status = line.decode().split(" ")
            if status != "200":
                raise CannotMeasure(f"nginx has answered a webhook with {status}: this is no measurement.")
            key = (database.merchant(int(path.rpartition("/")[2])), event)
            self.duplicates += key in self.first
            self.first.setdefault(key, float(at))

    def between(self, began: float, ended: float) -> int:
        """How many came then, for the first time."""
        return sum(began <= at < ended for at in self.first.values())


class Verification:
    """`last_merchant` is the last of those who make payments; who comes after them only has a past.

    What was there before `first_id` is no part of it.
    """

    def __init__(
        self,
        connection: asyncpg.Connection,
        arrivals: Arrivals,
        simulator_port: int,
        *,
        last_merchant: str,
        first_id: str = "txn_",
    ) -> None:
        self._connection = connection
        self._last_merchant = last_merchant
        self._first_id = first_id
        self._had: dict[str, int] = {}  # in each wallet, before
        self._arrivals = arrivals
        self._simulator_port = simulator_port

    async def created(self) -> int:
        async with self._connection.transaction():
            # Statistics are of before the payments. A plan that reads all of them for each merchant takes half a
            # second, which is measured too.
            await self._connection.execute("SET LOCAL enable_seqscan = off")
            return int(await self._connection.fetchval(_CREATED, self._last_merchant, self._first_id))

    async def remember_wallets(self) -> None:
        """What the merchants have before they make payments."""
        self._had = await self._wallets()

    async def wait_until_arrived(self) -> float:
        """Until nothing is under way any more; when the last webhook came, in seconds since 1970."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        created = await self.created()
        while await self._is_anything_under_way(created):
            if time.monotonic() > deadline:
                arrived = len(self._arrivals.first)
                raise CannotMeasure(f"{created} payments were created, and of only {arrived} a webhook came.")
            await asyncio.sleep(_LOOK_SECONDS)
        return max(self._arrivals.first.values())

    async def _is_anything_under_way(self, created: int) -> bool:
        """Cheap as long as it is so: whoever waits must not take the time of those who work."""
        self._arrivals.count_new()
        if len(self._arrivals.first) < created or len(self._arrivals.first) < await self.created():
            return True
        query = "SELECT EXISTS (SELECT FROM webhook_deliveries WHERE state = 'PENDING')"
        return bool(await self._connection.fetchval(query))

    async def delays(self, began: float, ended: float) -> list[float]:
        """Of those that were created then: how long after it each webhook came, in seconds."""
        first = self._arrivals.first
        return [
            first[each.merchant, each.event] - each.at
            for each in await self._payments()
            if began <= each.at < ended and each.event is not None
        ]

    async def verify(self, answers: int, cut_off: int) -> int:
        """All must say the same of every payment; how many there were."""
        payments = await self._payments()
        if not answers <= len(payments) <= answers + cut_off:
            raise CannotMeasure(f"{answers} payments were answered, and {len(payments)} are in the database: a bug.")
        held = await self._wallets()
        wallets = {merchant_id: now - self._had.get(merchant_id, 0) for merchant_id, now in held.items()}
        for sentence in differences(payments, wallets, self._charged(), self._arrivals.first.keys()):
            raise CannotMeasure(f"{sentence}: this is a bug.")
        return len(payments)

    def postmaster(self) -> Postmaster:
        return Postmaster.of(self._connection.get_server_pid())

    async def settle(self) -> None:
        """What PostgreSQL does by itself in a database that is in use: it learns what is in the tables."""
        await self._connection.execute("VACUUM ANALYZE")

    async def _payments(self) -> list[Payment]:
        rows = await self._connection.fetch(_PAYMENTS, self._last_merchant, self._first_id)
        return [Payment(**row) for row in rows]

    async def _wallets(self) -> dict[str, int]:
        query = "SELECT merchant_id, available FROM wallets WHERE merchant_id <= $1"
        rows = await self._connection.fetch(query, self._last_merchant)
        return {row["merchant_id"]: row["available"] for row in rows}

    def _charged(self) -> Counter[tuple[str, int]]:
        """Key and amount of everything that the network took from its subscribers."""
        connection = http.client.HTTPConnection("127.0.0.1", self._simulator_port, timeout=60)
        try:
            connection.request("GET", "/api/book")
            book = msgspec.json.decode(connection.getresponse().read(), type=_Book)
        finally:
            connection.close()
        return Counter((each.reference, each.amount) for each in book.movements if each.kind == "charged")


def differences(
    payments: Sequence[Payment],
    wallets: Mapping[str, int],
    charged: Counter[tuple[str, int]],
    arrived: Set[tuple[str, str]],
) -> list[str]:
    """What the books disagree in, a sentence each. Pure."""
    wrong = []
    if unfinished := sum(each.status != "COMPLETED" for each in payments):
        wrong.append(f"{unfinished} of {len(payments)} payments are not completed")
    if Counter((each.key, each.amount) for each in payments) != charged:
        wrong.append(f"the network has charged {charged.total()} times, and not for these {len(payments)} payments")
    due: Counter[str] = Counter()
    for each in payments:
        due[each.merchant] += each.net
    if any(held != due[merchant] for merchant, held in wallets.items()):
        wrong.append("a wallet holds another sum than its payments come to")
    if {(each.merchant, each.event) for each in payments} != arrived:
        wrong.append(f"other webhooks came than those of these {len(payments)} payments")
    return wrong

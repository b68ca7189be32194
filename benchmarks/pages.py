"""`bench pages`: whether a page of the dashboard is slower for a merchant with a long history.

Two merchants on one database, one with a thousand payments and one with a thousand times as many. Each page is asked
for by turns, and what counts is the time to its first byte.
"""

import asyncio
import http.client
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

from benchmarks import database, measured_processes
from benchmarks.history import write
from benchmarks.load import CannotMeasure
from malipo import clock
from malipo.accounts.passwords import Passwords
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.merchants import manage_people
from malipo.merchants.roles import Role
from malipo.merchants.store import people

SMALL, LARGE = "short history", "long history"
_PASSWORD = "a password for benchmarks"  # noqa: S105
_PAGES = {
    "overview": "/dashboard",
    "overview, 90 days": "/dashboard?days=90",
    "transactions": "/dashboard/transactions",
    "transactions, filtered": "/dashboard/transactions?type=DISBURSEMENT&channel=MPESA",
    "transactions, far back": "/dashboard/transactions?before={middle}",
    "one transaction": "/dashboard/transactions/{middle}",
    "wallet": "/dashboard/wallet",
    "new payout": "/dashboard/payout",
    "API keys": "/dashboard/keys",
    "webhooks": "/dashboard/webhooks",
    "settings": "/dashboard/settings",
}

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    short: int = 1_000
    long: int = 1_000_000
    rounds: int = 40


QUICK = Plan(long=100_000, rounds=20)


@dataclass(frozen=True)
class Report:
    plan: Plan
    postgres: str
    busy_percent: float
    times: dict[str, dict[str, list[float]]]  # of each page, for each history: milliseconds to the first byte

    def ratio(self, page: str) -> float:
        return median(self.times[page][LARGE]) / median(self.times[page][SMALL])

    def worst(self) -> float:
        return max(self.ratio(page) for page in self.times)


def measure(plan: Plan, say: Say) -> Report:
    with database.postgres() as server_url, tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
        url = asyncio.run(database.create(server_url, "bench", merchants=2))
        say(f"writing {plan.short + plan.long:,} payments ...")
        merchants = {SMALL: database.merchant(1), LARGE: database.merchant(2)}
        asyncio.run(write.write(url, merchants[SMALL], plan.short, first=0))
        asyncio.run(write.write(url, merchants[LARGE], plan.long, first=plan.short))
        measured_processes.check_ledger(url, Path(folder))
        with measured_processes.malipo(url, Path(folder)) as running:
            visitors = {name: _log_in(running.port, url, merchant_id) for name, merchant_id in merchants.items()}
            busy = measured_processes.busy_percent()
            say(f"asking for {len(_PAGES)} pages, {plan.rounds} times each ...")
            return Report(plan, asyncio.run(database.version(url)), busy, _ask(plan, running.port, visitors))


@dataclass(frozen=True)
class _Visitor:
    cookie: str
    middle: str  # a transaction in the middle of the history


def _ask(plan: Plan, port: int, visitors: dict[str, _Visitor]) -> dict[str, dict[str, list[float]]]:
    times: dict[str, dict[str, list[float]]] = {page: {name: [] for name in visitors} for page in _PAGES}
    for number in range(plan.rounds + 1):
        for page, path in _PAGES.items():
            for name, visitor in visitors.items():
                took = _first_byte(port, path.format(middle=visitor.middle), visitor.cookie)
                if number:  # The first round warms up.
                    times[page][name].append(took)
    return times


def _first_byte(port: int, path: str, cookie: str) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.connect()
        began = time.perf_counter()
        connection.request("GET", path, headers={"Cookie": cookie})
        response = connection.getresponse()
        took = (time.perf_counter() - began) * 1000
        if response.status != 200:
            raise CannotMeasure(f"{path} answered {response.status}.")
        response.read()
        return took
    finally:
        connection.close()


def _log_in(port: int, url: str, merchant_id: str) -> _Visitor:
    email = f"{merchant_id}@example.com"
    middle = asyncio.run(_person(url, merchant_id, email))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        form = urlencode({"email": email, "password": _PASSWORD})
        connection.request("POST", "/dashboard/login", form, {"Content-Type": "application/x-www-form-urlencoded"})
        response = connection.getresponse()
        response.read()
        cookies = [each.split(";")[0] for each in response.headers.get_all("Set-Cookie") or ()]
    finally:
        connection.close()
    if response.status != 303 or not cookies:
        raise CannotMeasure(f"The log-in answered {response.status}.")
    return _Visitor("; ".join(cookies), middle)


async def _person(url: str, merchant_id: str, email: str) -> str:
    """Somebody who can log in; and a transaction of theirs, from the middle."""
    async with Database.opened(url, size=4) as opened, opened.begin() as tx:
        actor, now = Actor("benchmark", "benchmark"), clock.now()
        person = await manage_people.add_person(
            tx, merchant_id, email=email, name="Benchmark", role=Role.OWNER, actor=actor, now=now
        )
        await people.set_password(tx, person.id, await Passwords().hash(_PASSWORD))
        return str(
            await tx.fetchval(
                """
                SELECT t.id FROM moves m JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.cause_id
                WHERE m.merchant_id = $1
                  AND m.statement_line = (SELECT statement_lines / 2 FROM wallets WHERE merchant_id = $1)
                """,
                merchant_id,
            )
        )

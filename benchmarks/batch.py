"""`bench batch`: thousands of payouts as one batch, beside as many single requests.

Each way on a database of its own, with an API, a worker and the simulated Airtel Money. Measured is the time from the
approval, or from the first single request, until the worker has taken up the last payout for its call to the network.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg

from benchmarks import database, measured_processes
from benchmarks.journey.processes import network_settings, process_settings, start_simulator, start_worker
from benchmarks.load import CannotMeasure
from malipo import clock
from malipo.db import Database
from malipo.ledger.bookings import BookingKind, book

Say = Callable[[str], None]

_KEY = "mlp_live_" + "1".zfill(40)
_PATH = "/v1/payments/disburse"
_AMOUNT = 1000
_LOOK_SECONDS = 0.05
_MOST_SECONDS = 600


@dataclass(frozen=True)
class Plan:
    lines: int = 5_000
    connections: int = 64  # of whoever sends single requests


QUICK = Plan(lines=500)


@dataclass(frozen=True)
class Trial:
    made_seconds: float  # until the batch was made and checked; 0 for single requests
    accepted_seconds: float  # until the approval, or the last single request, was answered
    sent_seconds: float  # until the last payout was taken up for sending


@dataclass(frozen=True)
class Report:
    plan: Plan
    postgres: str
    busy_percent: float
    batch: Trial
    single: Trial

    @property
    def ratio(self) -> float:
        """How many times longer single requests take."""
        return self.single.sent_seconds / self.batch.sent_seconds


def measure(plan: Plan, say: Say) -> Report:
    with database.postgres() as url:
        busy = measured_processes.busy_percent()
        say(f"a batch of {plan.lines:,} payouts ...")
        batch = _trial(url, plan, _send_batch)
        say(f"{plan.lines:,} single payouts ...")
        single = _trial(url, plan, _send_singly)
        return Report(plan, asyncio.run(database.version(url)), busy, batch, single)


def _trial(server_url: str, plan: Plan, send: Callable[..., Any]) -> Trial:
    url = asyncio.run(database.create(server_url, "bench", merchants=1))
    try:
        with tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder, ExitStack() as stack:
            asyncio.run(_fund(url, plan))
            simulator = stack.enter_context(start_simulator(Path(folder)))
            api = stack.enter_context(measured_processes.malipo(url, Path(folder)))
            settings = process_settings(url, Path(folder)) | network_settings(simulator.port)
            stack.enter_context(start_worker(settings, Path(folder), 0))
            trial: Trial = asyncio.run(send(plan, f"http://127.0.0.1:{api.port}", url))
        measured_processes.check_ledger(url, Path(folder))
        return trial
    finally:
        asyncio.run(database.drop(server_url, "bench"))


async def _fund(url: str, plan: Plan) -> None:
    """One merchant who has enough, and needs nobody else to approve."""
    async with Database.opened(url, size=1) as opened, opened.begin() as tx:
        amount = 2 * plan.lines * _AMOUNT
        await book(tx, BookingKind.TOP_UP, database.merchant(1), amount, reference="bench", now=clock.now())
        await tx.execute("UPDATE merchants SET takes_two_to_approve = false")
        await tx.execute("UPDATE api_keys SET permissions = '{payments.create,payouts.approve}'")


def _item(number: int) -> dict[str, Any]:
    return {"amount": _AMOUNT, "channel": "AIRTEL_MONEY", "recipientPhone": f"+25568{number:04}200"}


async def _send_batch(plan: Plan, api: str, url: str) -> Trial:
    async with aiohttp.ClientSession(headers={"x-api-key": _KEY}) as http:
        began = time.perf_counter()
        batch = (await _post(http, f"{api}{_PATH}/batches", {"items": [_item(each) for each in range(plan.lines)]}))[
            "batch"
        ]
        made = time.perf_counter()
        await _post(http, f"{api}{_PATH}/batches/{batch['id']}/approve", None)
        accepted = time.perf_counter()
    await _until_sent(url, plan)
    return Trial(made - began, accepted - made, time.perf_counter() - made)


async def _send_singly(plan: Plan, api: str, url: str) -> Trial:
    numbers = iter(range(plan.lines))

    async def send(http: aiohttp.ClientSession) -> None:
        for number in numbers:
            await _post(http, f"{api}{_PATH}", _item(number))

    async with aiohttp.ClientSession(headers={"x-api-key": _KEY}, connector=aiohttp.TCPConnector(limit=0)) as http:
        began = time.perf_counter()
        await asyncio.gather(*(send(http) for _ in range(plan.connections)))
        accepted = time.perf_counter()
    await _until_sent(url, plan)
    return Trial(0, accepted - began, time.perf_counter() - began)


async def _post(http: aiohttp.ClientSession, url: str, body: Any) -> Any:
    async with http.post(url, json=body) as answer:
        if answer.status not in (200, 201):
            raise CannotMeasure(f"{url} answered {answer.status}: {await answer.text()}")
        return await answer.json()


async def _until_sent(url: str, plan: Plan) -> None:
    """Until no payout waits for its call."""
    connection = await asyncpg.connect(url)
    try:
        async with asyncio.timeout(_MOST_SECONDS):
            while await connection.fetchval("SELECT count(*) FROM dispatches WHERE connector IS NULL"):  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_SECONDS)
        if await connection.fetchval("SELECT count(processing_at) FROM transactions") != plan.lines:
            raise CannotMeasure("Not every payout was sent.")
    finally:
        await connection.close()

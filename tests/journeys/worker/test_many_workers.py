"""Two workers, thousands of payouts, networks that lose requests and replies, and now and then a worker dies.

At the end each phone was paid exactly once, or not at all as its payment says, and the books agree to the shilling.
"""

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests import fork_server
from tests.conftest import create_database
from tests.journeys import database_facts
from tests.journeys.full_stack import FullStack, a_worker, full_stack_started, until

pytestmark = pytest.mark.slow
PAYOUTS = 2000
WALLET = 50_000_000
PREFIXES = {"MPESA": "+255754", "AIRTEL_MONEY": "+255684"}
# Of the requests to either network so many are answered with an error, so many never arrive, and of so many the reply
# never does; and the same of every question.
MISHAPS = {"errorRate": 0.04, "lostRequestRate": 0.05, "lostReplyRate": 0.06}
HURRY: dict[str, Any] = {"poll_seconds": "1", "not_found_seconds": 2, "unsettled_seconds": 3600, "log_level": "warning"}
# A worker that dies is missed after so long. What `malipo worker` takes is minutes, because networks take as long.
LEASE_SECONDS = 4


@pytest.fixture
async def full_stack(postgres: str, template: str, tmp_path: Path) -> AsyncIterator[FullStack]:
    url = await create_database(postgres, template)
    async with full_stack_started(tmp_path, url, speed=100, wallet=WALLET, **HURRY) as full_stack:
        yield full_stack


def _payouts(chance: random.Random) -> list[tuple[str, str, int]]:
    """Channel, phone and amount; no phone twice, and none that the simulator treats in a special way."""
    numbers = [number for number in range(100_000, 999_999) if not 100 <= number % 1000 <= 113]
    return [
        (channel, PREFIXES[channel] + str(number), chance.randrange(500, 5000))
        for number in chance.sample(numbers, PAYOUTS)
        for channel in [chance.choice(list(PREFIXES))]
    ]


@contextmanager
def _worker(full_stack: FullStack, folder: Path) -> Iterator[fork_server.Child]:
    """One that is to die: as `malipo worker`, but missed sooner."""
    command = ("tests.journeys.crashing_worker", "never", "1", "KILL", str(LEASE_SECONDS))
    environment = {"PATH": os.environ["PATH"], **full_stack.environment, "MALIPO_DATABASE_URL": full_stack.database_url}
    with (folder / "mortal.log").open("ab") as output:
        process = fork_server.run_module(*command, env=environment, stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.kill()
        process.wait(240)


async def _completed(full_stack: FullStack) -> int:
    async with full_stack.database.read() as connection:
        return int(await connection.fetchval("SELECT count(*) FROM transactions WHERE status = 'COMPLETED'"))


async def _is_over(full_stack: FullStack) -> bool:
    """Nothing is open but what only a person can end."""
    async with full_stack.database.read() as connection:
        return not await connection.fetchval("SELECT count(*) FROM dispatches WHERE attention IS NULL")


async def test_a_crowd_is_paid_once_each_whatever_workers_and_networks_do(
    full_stack: FullStack, tmp_path: Path
) -> None:
    chance = random.Random(20261115)
    payouts = _payouts(chance)
    await full_stack.sim.control(seed=7, all=MISHAPS)
    full_stack.start("worker")  # it lives through everything
    taken = dict(zip(await _take_all(full_stack, payouts), payouts, strict=True))

    deaths = 0
    for share in (0.1, 0.35, 0.6, 0.8):
        with _worker(full_stack, tmp_path):
            await until(partial(_have, full_stack, share * PAYOUTS), what="their being paid")
            await asyncio.sleep(chance.uniform(0, 0.3))  # In the middle of something.
        deaths += 1
    with _worker(full_stack, tmp_path):
        await until(lambda: _is_over(full_stack), what="the end of all of them")
        unsettled = await full_stack.unsettled()

    assert deaths == 4
    await _assert_each_was_paid_once(full_stack, taken, unsettled)


async def _have(full_stack: FullStack, wanted: float) -> bool:
    return await _completed(full_stack) >= wanted


async def _take_all(full_stack: FullStack, payouts: list[tuple[str, str, int]]) -> list[str]:
    room = asyncio.Semaphore(100)

    async def take(channel: str, phone: str, amount: int) -> str:
        async with room:
            return await full_stack.take(channel, "DISBURSEMENT", phone, amount)

    return list(await asyncio.gather(*(take(*payout) for payout in payouts)))


async def _assert_each_was_paid_once(
    full_stack: FullStack, taken: dict[str, tuple[str, str, int]], unsettled: dict[str, str]
) -> None:
    async with full_stack.database.read() as connection:
        rows = await connection.fetch("SELECT id, network_key, status FROM transactions")
        received = await connection.fetch(
            "SELECT source, verdict, count(*) AS times FROM network_answers GROUP BY 1, 2"
        )
    status = {row["id"]: row["status"] for row in rows}
    book = await full_stack.sim("GET", "/api/book")
    paid = Counter((each["channel"], each["phone"], each["amount"]) for each in book["movements"])
    expected = Counter(payout for id_, payout in taken.items() if status[id_] == "COMPLETED")

    assert paid == expected
    assert set(status) == set(taken)
    assert set(status.values()) <= {"COMPLETED", "PROCESSING"}, "a payout never fails because nobody answered"
    assert {id_ for id_ in status if status[id_] == "PROCESSING"} == set(unsettled)
    # The storm was one: every mishap has happened.
    happened = {(row["source"], row["verdict"]): row["times"] for row in received}
    assert happened["send", "unknown"] > PAYOUTS * 0.1
    assert happened["ask", "missing"] > PAYOUTS * 0.05
    assert happened["ask", "unknown"] > PAYOUTS * 0.01
    spent = sum(amount for _, _, amount in expected.elements())
    held = sum(taken[id_][2] for id_ in unsettled)
    assert book["paid"] == spent
    assert await database_facts.wallet(full_stack.database, full_stack.merchant.id) == (WALLET - spent - held, held)
    await database_facts.assert_clean(full_stack.database)


async def test_a_payment_that_is_cancelled_while_workers_take_them_is_either_cancelled_or_sent(
    full_stack: FullStack,
) -> None:
    number = 150
    await full_stack.sim.control(speed=100)
    phones = [f"+255684{900_000 + place}" for place in range(number) if not 100 <= place % 1000 <= 113]
    ids = [await full_stack.take("AIRTEL_MONEY", "DISBURSEMENT", phone) for phone in phones]

    async with a_worker(full_stack), a_worker(full_stack):
        cancelled = await asyncio.gather(
            *(full_stack.api("POST", f"/v1/payments/{id_}/cancel") for id_ in reversed(ids))
        )
        await until(lambda: _is_over(full_stack), what="the end of all of them")

    answers = dict(zip(reversed(ids), (answer.status for answer in cancelled), strict=True))
    assert set(answers.values()) <= {200, 409}, "some are quicker than the workers, and some not, as the machine will"
    book = await full_stack.moved()
    for id_, phone in zip(ids, phones, strict=True):
        status = (await full_stack.shown(id_))["status"]
        assert (answers[id_], status, len(book.get(phone, []))) in ((200, "CANCELLED", 0), (409, "COMPLETED", 1))
    await database_facts.assert_clean(full_stack.database)

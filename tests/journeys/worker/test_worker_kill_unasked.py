"""A worker dies with payouts whose network has no query, or never answers "not found".

A second sending would be a guess there, so there is none: a payout without an answer stays open until an operator ends it.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import create_database
from tests.journeys import database_facts
from tests.journeys.full_stack import a_worker, until
from tests.journeys.worker_stack import WorkerStack, a_crashing_worker, networks, worker_stack
from tests.simulator.processes import Sim

DEATHS = ["claimed", "sending", "answered", "recording", "recorded"]
# Tigo Pesa has no query for payouts; HaloPesa's go through ClickPesa, whose 404 says nothing of a payment.
PHONES = {"TIGO_PESA": "+255714", "HALOPESA": "+255624"}


@dataclass(frozen=True)
class After:
    rows: list[dict[str, Any]]
    sent: Counter[str]
    moved: Counter[str]


@pytest.fixture(scope="module")
async def sim() -> AsyncIterator[Sim]:
    async with networks() as sim:
        yield sim


@pytest.fixture(scope="module")
async def aftermath(
    sim: Sim, postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, After]:
    folder = tmp_path_factory.mktemp("deaths")

    async def crash(place: int, point: str) -> After:
        async with worker_stack(sim, await create_database(postgres, template)) as home:
            for channel, prefix in PHONES.items():
                await home.take(channel, "DISBURSEMENT", f"{prefix}7{place:02d}001", 2000)
            await home.take("TIGO_PESA", "COLLECTION", f"+2557148{place:02d}001", 3000)
            with a_crashing_worker(home, folder, point=point) as worker:
                await until(lambda: _ended(worker), what="the worker's death")
            await home.end_leases()
            async with a_worker(home):
                await until(lambda: _has_settled(home), what="the end, or the operator's list")
                await asyncio.sleep(2)  # For whoever would send it once more.
            return await _look(home)

    died = await asyncio.gather(*(crash(place, point) for place, point in enumerate(DEATHS)))
    return dict(zip(DEATHS, died, strict=True))


async def _ended(worker: Any) -> bool:
    return bool(worker.has_ended())


async def _has_settled(home: WorkerStack) -> bool:
    """Ended; or open, and the network was asked, or is known not to be there for questions."""
    async with home.database.read() as connection:
        rows = await connection.fetch(
            """
            SELECT t.status, t.channel, d.attention, d.query_count FROM transactions t
            LEFT JOIN dispatches d ON d.transaction_id = t.id
            """
        )
    return all(
        row["status"] in ("COMPLETED", "FAILED") or row["attention"] == "unheard" or (row["query_count"] or 0) >= 4
        for row in rows
    )


async def _look(home: WorkerStack) -> After:
    rows = list((await home.rows()).values())
    seen = await home.sim("GET", "/api/seen?limit=2000")
    posts = [
        each["body"]
        for each in seen
        if each["direction"] == "in" and each["method"] == "POST" and not each["path"].endswith("/TQS")
    ]
    book = (await home.sim("GET", "/api/book"))["movements"]
    await database_facts.assert_clean(home.database)
    return After(
        rows,
        Counter({row["network_key"]: sum(row["network_key"] in body for body in posts) for row in rows}),
        Counter({row["network_key"]: sum(row["network_key"] in each["reference"] for each in book) for row in rows}),
    )


@pytest.mark.parametrize("death", DEATHS)
async def test_a_payout_that_nobody_can_be_asked_about_is_sent_once_and_never_again(
    aftermath: dict[str, After], death: str
) -> None:
    after = aftermath[death]
    for row in after.rows:
        key = row["network_key"]
        assert after.sent[key] <= 1, row
        assert after.moved[key] == after.sent[key], "what reached the network was done, once"
        if row["type"] == "COLLECTION":
            expected = "COMPLETED" if after.moved[key] else "FAILED"
            assert row["status"] == expected, row
        else:
            assert row["status"] in ("COMPLETED", "PROCESSING"), "a payout never fails because we died"
            assert row["status"] == "PROCESSING" or after.moved[key] == 1


async def test_of_those_deaths_some_came_before_the_request_and_some_after(aftermath: dict[str, After]) -> None:
    def payouts(death: str) -> set[tuple[str, str, int]]:
        after = aftermath[death]
        rows = [row for row in after.rows if row["type"] == "DISBURSEMENT"]
        return {(row["channel"], row["status"], after.moved[row["network_key"]]) for row in rows}

    assert ("TIGO_PESA", "PROCESSING", 0) in payouts("claimed") | payouts("sending")
    assert any(("TIGO_PESA", "PROCESSING", 1) in payouts(death) for death in ("answered", "recording", "recorded"))
    assert ("HALOPESA", "PROCESSING", 1) not in set().union(*map(payouts, DEATHS)), "ClickPesa can be asked"

"""A worker falls asleep and wakes after its lease: it sends nothing twice, and nothing is lost sight of."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.journeys import database_facts
from tests.journeys.full_stack import a_worker, until
from tests.journeys.worker.worker_stacks import home as home
from tests.journeys.worker.worker_stacks import sim as sim
from tests.journeys.worker_stack import CrashingWorker, WorkerStack, a_crashing_worker


@asynccontextmanager
async def _asleep(home: WorkerStack, folder: Path, point: str, number: int = 1) -> AsyncIterator[CrashingWorker]:
    """A worker that fell asleep when it came to this point for the n-th time; everything has ended without it."""
    with a_crashing_worker(home, folder, point=point, number=number, signal="STOP", lease_seconds=8) as worker:

        async def is_stopped() -> bool:
            return worker.is_stopped

        await until(is_stopped, pause=0.02, what="sleep")
        # What it has open, the server ends after ten seconds by itself. We have no time to lose.
        async with home.database.read() as connection:
            await connection.execute(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()
                """
            )
        async with a_worker(home):
            await home.until_all_ended()
        yield worker


async def test_a_worker_that_slept_through_its_lease_sends_nothing_when_it_wakes(
    home: WorkerStack, tmp_path: Path
) -> None:
    """Meanwhile the network has answered others that it has nothing: a collection was given up, and a payout sent again."""
    await home.take("MPESA", "COLLECTION", "+255754430001")
    await home.take("MPESA", "DISBURSEMENT", "+255754431001")

    async with _asleep(home, tmp_path, "claimed") as worker:

        async def has_noticed() -> bool:
            return worker.log.read_text().count("worker.claim_too_old") == 2

        worker.process.send_signal(signal.SIGCONT)
        await until(has_noticed, what="its noticing that it slept")

    ends = {row["type"]: row for row in (await home.rows()).values()}
    assert (ends["COLLECTION"]["status"], ends["COLLECTION"]["failure_code"]) == ("FAILED", "not_received")
    assert ends["DISBURSEMENT"]["status"] == "COMPLETED"
    requests = await home.requests()
    assert [requests[ends[type_]["network_key"]] for type_ in ("COLLECTION", "DISBURSEMENT")] == [0, 1]
    await home.assert_books_agree()


# It falls asleep with the last answer, so that however slow the machine is, no request is left to go.
@pytest.mark.parametrize(("point", "payments", "act"), [("answered", 4, "send"), ("told", 1, "ask")])
async def test_a_worker_that_slept_with_an_answer_in_its_hand_changes_nothing_when_it_wakes(
    home: WorkerStack, tmp_path: Path, point: str, payments: int, act: str
) -> None:
    if payments == 4:
        await home.take_four("44")
    else:
        await home.take("AIRTEL_MONEY", "COLLECTION", "+255684450001")

    async def received() -> int:
        async with home.database.read() as connection:
            return int(await connection.fetchval("SELECT count(*) FROM network_answers WHERE source = $1", act))

    async with _asleep(home, tmp_path, point, payments) as worker:
        before = await received()

        async def has_told() -> bool:
            return await received() > before

        worker.process.send_signal(signal.SIGCONT)
        await until(has_told, what="its report of the answer")

    await home.assert_each_was_sent_once()


async def test_a_request_that_leaves_a_worker_after_its_sleep_is_not_lost_sight_of(
    home: WorkerStack, tmp_path: Path
) -> None:
    """Between the last look at the clock and the wire nobody can help it. The customer is charged for what has failed."""
    id_ = await home.take("MPESA", "COLLECTION", "+255754470001")

    async with _asleep(home, tmp_path, "sending") as worker:
        assert (await home.rows())[id_]["failure_code"] == "not_received"
        worker.process.send_signal(signal.SIGCONT)
        await until(home.have_moved, what="the customer's being charged")

        async def is_found_out() -> bool:
            async with home.database.read() as connection:
                return bool(await connection.fetchval("SELECT count(*) FROM moves WHERE step = 'contradiction'"))

        await until(is_found_out, what="its being found out")

    assert (await home.rows())[id_]["status"] == "FAILED", "what the merchant saw stays"
    await database_facts.assert_clean(home.database)

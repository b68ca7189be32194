"""A worker's connection to its database is cut or falls silent at the worst moment: each claimed payment is sent once, and
each answer is counted once.

Only the connection between them is simulated; the networks keep their own book, which is what counts.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.conftest import create_database, free_port
from tests.journeys.full_stack import Elsewhere, a_worker, until
from tests.journeys.postgres_proxy import Fault, PostgresProxy, proxy_to
from tests.journeys.worker_stack import PREFIXES, WorkerStack, networks, worker_stack
from tests.simulator.processes import Sim


@pytest.fixture(scope="module")
async def sim() -> AsyncIterator[Sim]:
    """Networks whose row 103 takes two seconds to answer."""
    async with networks(speed=4) as sim:
        yield sim


@asynccontextmanager
async def _wired(
    sim: Sim, postgres: str, template: str, **settings: Any
) -> AsyncIterator[tuple[PostgresProxy, WorkerStack]]:
    """A hamlet whose workers have the database at the end of a wire; it is itself not."""
    url = await create_database(postgres, template)
    async with proxy_to(url) as (proxy, via), worker_stack(sim, url, via=via, **settings) as home:
        yield proxy, home
        proxy.come_back()
        proxy.speak_again()


# What only a claim runs, and what only an answer runs.
CLAIMS = "claim_id = $4, next_action = 'sending'"
HEARS = "INSERT INTO network_answers"


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.HANG_AFTER])
async def test_payments_claimed_by_a_commit_whose_answer_was_lost_are_sent_once(
    sim: Sim, postgres: str, template: str, fault: Fault
) -> None:
    """With a lease of minutes: nobody else would take it up in time."""
    async with _wired(sim, postgres, template, database_patience_seconds=3) as (proxy, home):
        await home.take_four(f"5{fault.value}")
        trap = proxy.trap(fault, after=CLAIMS)
        async with a_worker(home):
            await home.until_all_ended()

        assert trap.sprung.is_set()
        await home.assert_each_was_sent_once()


async def test_payments_claimed_while_the_server_still_commits_are_sent_once(
    sim: Sim, postgres: str, template: str
) -> None:
    """The worker asks for its claim too early, and finds nothing. What it took is found by the next one."""
    async with _wired(sim, postgres, template) as (proxy, home):
        await home.make_commits_slow("UPDATE ON dispatches", "NEW.next_action = 'sending'")
        await home.take("MPESA", "COLLECTION", "+255754560001")
        await home.take("MPESA", "DISBURSEMENT", "+255754561001")
        trap = proxy.trap(Fault.CUT_DURING, after=CLAIMS)
        async with a_worker(home, lease_seconds=2):
            await home.until_all_ended()

        assert trap.sprung.is_set()
        requests = await home.requests()
        for row in (await home.rows()).values():
            assert row["status"] == "COMPLETED" or row["failure_code"] == "not_received"
            assert row["status"] == "COMPLETED" or row["type"] == "COLLECTION"
            assert requests[row["network_key"]] == (row["status"] == "COMPLETED")
        await home.assert_books_agree()


async def test_a_claim_that_hangs_in_its_commit_is_nobody_elses_and_holds_nobody_up(
    sim: Sim, postgres: str, template: str
) -> None:
    async with _wired(sim, postgres, template, database_patience_seconds=60) as (proxy, home):
        await home.take_four("57")
        trap = proxy.trap(Fault.HOLD, after=CLAIMS)
        direct = Elsewhere(home.direct_url, home.settings)
        async with a_worker(home):
            await asyncio.wait_for(trap.sprung.wait(), 60)
            async with a_worker(direct):
                late = await home.take("MPESA", "DISBURSEMENT", "+255754588001")
                await until(lambda: _has_completed(home, late), what="somebody else's payment")
                trap.may_pass.set()
                await home.until_all_ended()

        await home.assert_each_was_sent_once()


async def _has_completed(home: WorkerStack, id_: str) -> bool:
    return bool((await home.rows())[id_]["status"] == "COMPLETED")


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER])
async def test_an_answer_whose_commit_is_cut_ends_its_payment_once(
    sim: Sim, postgres: str, template: str, fault: Fault
) -> None:
    async with _wired(sim, postgres, template) as (proxy, home):
        await home.take_four(f"6{fault.value}")
        traps = [proxy.trap(fault, after=HEARS) for _ in range(3)]
        async with a_worker(home):
            await home.until_all_ended()

        assert all(trap.sprung.is_set() for trap in traps)
        await home.assert_each_was_sent_once()


async def test_an_answer_whose_commit_is_cut_is_counted_once(sim: Sim, postgres: str, template: str) -> None:
    """Three answers that the network has nothing must be three answers."""
    async with _wired(sim, postgres, template, poll_seconds="2,3600") as (proxy, home):
        id_ = await home.take("MPESA", "COLLECTION", "+255754650108")
        async with a_worker(home):
            await until(lambda: _stands(home, id_, next_action="ask"), what="the reply")
            trap = proxy.trap(Fault.CUT_AFTER, after=HEARS)
            await asyncio.wait_for(trap.sprung.wait(), 60)
            await until(lambda: _stands(home, id_, not_indexed_count=1), what="one answer")
            await asyncio.sleep(1.5)  # A worker polls every second: by now it would have counted it again.

        assert await _stands(home, id_, not_indexed_count=1)


async def test_a_request_that_provably_did_not_leave_is_counted_so_once(sim: Sim, postgres: str, template: str) -> None:
    """Counted twice, the refusal of a second sending would later be taken for the refusal of the only one."""
    closed = f"http://127.0.0.1:{free_port()}"
    async with _wired(sim, postgres, template, mpesa_base_url=closed) as (proxy, home):
        id_ = await home.take("MPESA", "DISBURSEMENT", "+255754660001")
        trap = proxy.trap(Fault.CUT_AFTER, after=HEARS)
        async with a_worker(home):
            await asyncio.wait_for(trap.sprung.wait(), 60)
            await asyncio.wait_for(trap.server_is_done.wait(), 60)
            await until(lambda: _stands(home, id_, next_action="send"), what="its being put back")
            await asyncio.sleep(0.5)  # The answer is written down again in less.

        assert await _stands(home, id_, next_action="send", send_count=0), (await home.rows())[id_]


async def _stands(home: WorkerStack, id_: str, **expected: Any) -> bool:
    row = (await home.rows())[id_]
    return all(row[name] == value for name, value in expected.items())


async def test_an_answer_is_kept_until_the_database_is_back(sim: Sim, postgres: str, template: str) -> None:
    async with (
        _wired(sim, postgres, template, database_patience_seconds=1) as (proxy, home),
        a_worker(home),
    ):
        for channel, prefix in PREFIXES.items():
            await home.take(channel, "DISBURSEMENT", f"{prefix}490103")
        await until(home.are_on_their_way, pause=0.02, what="requests on their way")
        proxy.go_away()
        await until(home.have_moved, what="the network's paying")
        await asyncio.sleep(2.5)  # Longer than anybody's patience.
        assert {row["status"] for row in (await home.rows()).values()} == {"PROCESSING"}
        proxy.come_back()
        await home.until_all_ended()  # The lease is minutes: nobody else would have ended them.

        await home.assert_each_was_sent_once()

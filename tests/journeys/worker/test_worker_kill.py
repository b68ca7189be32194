"""A worker dies or loses its database at the worst moment: nobody is paid twice, and nobody is forgotten.

Workers are real processes that are killed by the kernel's signals; another one, in good health, then finds what they
left. The networks keep their own book, which is what counts.
"""

import asyncio
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from malipo.payments.claim_for_sending import SendClaim
from tests.conftest import create_database
from tests.db.lock_waits import are_waiting
from tests.journeys.full_stack import a_worker, until
from tests.journeys.worker.worker_stacks import a_home, until_dead, waits_for
from tests.journeys.worker.worker_stacks import home as home
from tests.journeys.worker.worker_stacks import sim as sim
from tests.journeys.worker.worker_stacks import slow as slow
from tests.journeys.worker_stack import PREFIXES, WorkerStack, a_crashing_worker, a_real_worker, worker_stack
from tests.simulator.processes import Sim

# Each named point of a payment's way, and at which coming to it the worker dies: at the first, so that nothing else has
# happened, or later, so that some payments of the same claim are further than others.
DEATHS = [
    ("claiming", 1),
    ("claimed", 1),
    ("claimed", 2),
    ("sending", 1),
    ("sending", 6),
    ("answered", 1),
    ("answered", 5),
    ("recording", 4),
    ("recorded", 1),
    ("recorded", 6),
    ("asking", 3),
    ("told", 1),
    ("told", 5),
    ("noted", 4),
]
# Ordinary ones, and those whose reply is lost, so that only a question can end them.
ROWS = ("001", "105")
_AT_ONCE = 6  # How many of these deaths are died at once, on a machine with little to spare.


@dataclass(frozen=True)
class After:
    """What is left when a healthy worker has come by."""

    code: int | None
    requests: dict[str, int]
    rows: list[dict[str, Any]]
    wrong: str


Aftermath = dict[tuple[str, int], After]


@pytest.fixture(scope="module")
async def aftermath(sim: Sim, postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    """All deaths are died beside each other, each in a hamlet of its own."""
    room = asyncio.Semaphore(_AT_ONCE)
    folder = tmp_path_factory.mktemp("deaths")

    async def crash(place: int, point: str, number: int) -> After:
        async with room, worker_stack(sim, await create_database(postgres, template)) as home:
            return await _die(home, folder, place, point, number)

    died = await asyncio.gather(*(crash(place, *death) for place, death in enumerate(DEATHS)))
    return dict(zip(DEATHS, died, strict=True))


async def _die(home: WorkerStack, folder: Path, place: int, point: str, number: int) -> After:
    for channel, prefix in PREFIXES.items():
        for type_, middle in (("COLLECTION", "2"), ("DISBURSEMENT", "3")):
            for row in ROWS:
                await home.take(channel, type_, f"{prefix}{middle}{place:02d}{row}", 1000 + int(row))
    with a_crashing_worker(home, folder, point=point, number=number) as worker:
        await until_dead(worker)
    await home.end_leases()
    async with a_worker(home):
        await home.until_all_ended()
    try:
        await home.assert_books_agree()
    except AssertionError as error:
        wrong = str(error)
    else:
        wrong = ""
    return After(worker.process.returncode, await home.requests(), list((await home.rows()).values()), wrong)


@pytest.mark.parametrize("death", DEATHS, ids=lambda death: f"{death[0]}-{death[1]}")
async def test_a_worker_killed_at_any_point_leaves_every_payment_to_be_ended_once(
    aftermath: Aftermath, death: tuple[str, int]
) -> None:
    after = aftermath[death]

    assert after.code == -signal.SIGKILL
    assert not after.wrong
    for row in after.rows:
        if row["type"] == "DISBURSEMENT":
            assert row["status"] == "COMPLETED", "a payout never fails because we died"
        else:
            assert (row["status"], row["failure_code"]) in (("COMPLETED", None), ("FAILED", "not_received"))
        # The network refuses a second request with the same key, but it must not come to that.
        assert after.requests[row["network_key"]] == (row["status"] == "COMPLETED"), row


async def test_of_those_deaths_some_came_before_the_request_and_some_after(aftermath: Aftermath) -> None:
    """Else the grid above would prove nothing."""
    ends = {death: {row["failure_code"] for row in after.rows} for death, after in aftermath.items()}

    assert "not_received" in ends["claimed", 1] & ends["sending", 1]
    assert None in ends["recorded", 6]


@pytest.mark.parametrize("row", ["103", "001"], ids=["that the network has", "that the network has yet to read"])
async def test_a_worker_killed_with_a_request_on_the_wire_has_sent_it_once(
    slow: Sim, postgres: str, template: str, tmp_path: Path, row: str
) -> None:
    async with a_home(slow, postgres, template, not_found_seconds=20, not_indexed_seconds=20) as home:
        for channel, prefix in PREFIXES.items():
            await home.take(channel, "DISBURSEMENT", f"{prefix}400{row}")
            if row == "001":
                await home.take(channel, "COLLECTION", f"{prefix}401{row}")
        if row == "001":
            await slow.control(all={"latencySeconds": 12})

        async def are_on_the_wire() -> bool:
            keys = [each["network_key"] for each in (await home.rows()).values()]
            seen = [each for each in await slow("GET", "/api/seen?limit=2000") if each["status"] is None]
            return all(any(key in each["body"] for each in seen) for key in keys)

        with a_crashing_worker(home, tmp_path) as worker:
            await until(are_on_the_wire, pause=0.02, what="requests without an answer")
            worker.process.kill()
            await until_dead(worker)
        await home.end_leases()
        await slow.control(all={"latencySeconds": 0})
        async with a_worker(home):
            await home.until_all_ended()
        await home.assert_each_was_sent_once()


async def test_a_worker_killed_while_its_answer_waits_for_a_lock_pays_once(home: WorkerStack, tmp_path: Path) -> None:
    await home.take("AIRTEL_MONEY", "DISBURSEMENT", "+255684410001")

    with a_crashing_worker(home, tmp_path) as worker:
        async with home.database.begin() as tx:
            await tx.execute("SELECT * FROM wallets FOR UPDATE")
            await until(lambda: are_waiting(home.database), pause=0.02, what="waiting for the wallet")
            worker.process.kill()
            await until_dead(worker)
    await home.end_leases()
    async with a_worker(home):
        await home.until_all_ended()

    await home.assert_each_was_sent_once()


async def test_a_worker_killed_inside_the_commit_of_an_answer_pays_once(home: WorkerStack, tmp_path: Path) -> None:
    await home.make_commits_slow("UPDATE ON transactions", "NEW.status = 'COMPLETED'")
    await home.take("AIRTEL_MONEY", "DISBURSEMENT", "+255684420001")

    with a_crashing_worker(home, tmp_path) as worker:
        await until(
            lambda: waits_for(home, "query = 'COMMIT;' AND wait_event = 'PgSleep'"),
            pause=0.02,
            what="a commit under way",
        )
        worker.process.kill()
        await until_dead(worker)
    await home.end_leases()
    async with a_worker(home):
        await home.until_all_ended()

    await home.assert_each_was_sent_once()


async def test_a_refusal_of_a_second_sending_says_nothing_about_the_first(
    sim: Sim, postgres: str, template: str
) -> None:
    """The network has paid, keeps it from us for a while, and then refuses us for a reason of its own."""
    async with a_home(sim, postgres, template) as home:
        id_ = await home.take("AIRTEL_MONEY", "DISBURSEMENT", "+255684480105")
        await sim.control(channels={"AIRTEL_MONEY": {"notFoundSeconds": 3600}})
        try:
            async with a_worker(home):
                await until(lambda: _has_heard(home, "send", "unknown"), what="the reply that is lost")
                await sim.control(channels={"AIRTEL_MONEY": {"pinPadding": "oaep"}})
                await until(lambda: _has_heard(home, "send", "refused"), what="the refusal of the second sending")
                assert (await home.rows())[id_]["status"] == "PROCESSING"
                await sim.control(channels={"AIRTEL_MONEY": {"notFoundSeconds": 0}})
                await home.until_all_ended()
        finally:
            await sim.control(channels={"AIRTEL_MONEY": {"notFoundSeconds": 0, "pinPadding": "pkcs1v15"}})

        assert (await home.rows())[id_]["status"] == "COMPLETED"
        await home.assert_books_agree()


async def _has_heard(home: WorkerStack, act: str, verdict: str) -> bool:
    async with home.database.read() as connection:
        query = "SELECT count(*) FROM network_answers WHERE source = $1 AND verdict = $2"
        return bool(await connection.fetchval(query, act, verdict))


async def test_payments_of_a_dead_worker_are_queried_and_not_claimed_for_sending(
    home: WorkerStack, tmp_path: Path
) -> None:
    for number in range(3):
        await home.take("MPESA", "DISBURSEMENT", f"+25575449{number}001")
    with a_crashing_worker(home, tmp_path, point="answered") as worker:
        await until_dead(worker)
    await home.end_leases()

    claim = SendClaim(
        id="clm_next",
        connector="mpesa",
        routes=home.service.networks.carried_by("mpesa"),
        most=10,
        lease_seconds=60,
        lapse_seconds=600,
    )
    assert (await home.service.network_work.claim_for_sending(claim)).to_send == []
    async with a_worker(home):
        await home.until_all_ended()
    await home.assert_each_was_sent_once()


async def test_a_payment_that_one_worker_is_sending_is_queried_by_no_other(
    slow: Sim, postgres: str, template: str
) -> None:
    async with a_home(slow, postgres, template) as home:
        for channel, prefix in PREFIXES.items():
            await home.take(channel, "DISBURSEMENT", f"{prefix}499103")
        async with a_worker(home), a_worker(home):
            await home.until_all_ended()

        async with home.database.read() as connection:
            acts = await connection.fetch(
                "SELECT DISTINCT ON (transaction_id) source FROM network_answers ORDER BY transaction_id, id"
            )
        assert [row["source"] for row in acts] == ["send", "send"]
        await home.assert_each_was_sent_once()


async def test_a_worker_asked_to_stop_ends_what_is_on_its_way_and_takes_nothing_new(
    slow: Sim, postgres: str, template: str, tmp_path: Path
) -> None:
    async with a_home(slow, postgres, template) as home:
        for number in range(3):
            await home.take("AIRTEL_MONEY", "DISBURSEMENT", f"+25568449{number}103")
        with a_real_worker(home, tmp_path) as worker:
            await until(home.are_on_their_way, pause=0.02, what="requests on their way")
            worker.process.terminate()
            await until(lambda: _has_left_the_bell(home), pause=0.02, what="its hearing that")
            late = await home.take("AIRTEL_MONEY", "DISBURSEMENT", "+255684495001")
            await until_dead(worker)

        rows = await home.rows()
        assert worker.process.returncode == 0
        assert rows.pop(late)["status"] == "PENDING"
        assert {row["status"] for row in rows.values()} == {"COMPLETED"}


async def test_a_worker_asked_to_stop_in_the_middle_of_a_claim_sends_what_it_has_claimed(home: WorkerStack) -> None:
    """Nobody else would before the lease is over, and its customer would wait for that long."""
    await home.make_commits_slow("UPDATE ON dispatches", "NEW.next_action = 'sending'")
    await home.take("AIRTEL_MONEY", "DISBURSEMENT", "+255684420001")
    async with a_worker(home):
        await until(lambda: waits_for(home, "wait_event = 'PgSleep'"), what="the claim's commit")

    await home.assert_each_was_sent_once()


async def _has_left_the_bell(home: WorkerStack) -> bool:
    return not await waits_for(home, "application_name = 'malipo listener'")

"""A network that is down delays no other, loses nothing, and is used again when it is back."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.conftest import create_database
from tests.journeys import database_facts
from tests.journeys.full_stack import Elsewhere, FullStack, a_worker, until
from tests.journeys.network_proxy import Bar, NetworkProxy, a_network_proxy
from tests.journeys.networks.payments_by_proxy import (
    FAULTS,
    by_road,
    channels_up,
    forget_that_it_is_down,
    moved_for,
    requests_for,
    rows_of,
    take_payments,
    until_rows,
    until_up,
)
from tests.journeys.networks.payments_by_proxy import full_stack as full_stack
from tests.journeys.networks.payments_by_proxy import road as road
from tests.journeys.worker_stack import WorkerStack, networks, worker_stack


@pytest.mark.parametrize("bar", list(Bar), ids=lambda bar: bar.name.lower())
async def test_a_network_in_trouble_is_left_alone_after_five_faults_and_used_again_when_it_is_back(
    full_stack: FullStack, road: NetworkProxy, bar: Bar
) -> None:
    await road.bar(bar)
    async with a_worker(by_road(road, full_stack)):
        # Four faults are no proof.
        first = await take_payments(full_stack, "MPESA", "DISBURSEMENT", FAULTS - 1)
        await until_rows(full_stack, first, heard=1)
        assert (await channels_up(full_stack))["MPESA"]
        # The fifth is.
        first += await take_payments(full_stack, "MPESA", "COLLECTION")
        await until_up(full_stack, False)
        assert (await channels_up(full_stack))["AIRTEL_MONEY"]
        # From now on everything waits, and the other network does not.
        waiting = [
            *await take_payments(full_stack, "MPESA", "DISBURSEMENT", 2),
            *await take_payments(full_stack, "MPESA", "COLLECTION"),
        ]
        others = [
            *await take_payments(full_stack, "AIRTEL_MONEY", "DISBURSEMENT", 3),
            *await take_payments(full_stack, "AIRTEL_MONEY", "COLLECTION"),
        ]
        await until_rows(full_stack, others, status="COMPLETED")
        assert {row["status"] for row in (await rows_of(full_stack, waiting)).values()} == {"PENDING"}
        assert {row["status"] for row in (await rows_of(full_stack, first)).values()} == {"PROCESSING"}
        assert {row["send_count"] for row in (await rows_of(full_stack, first)).values()} == {0}, (
            "provably nothing has left"
        )
        # Until it is back.
        await road.open()
        await until_up(full_stack, True)
        await until_rows(full_stack, first + waiting, status="COMPLETED")

    assert await requests_for(full_stack, first + waiting) == [1] * 8
    assert await moved_for(full_stack, first + waiting) == [1] * 8


async def test_of_a_fleet_one_knocks_at_a_network_that_is_down(full_stack: FullStack, road: NetworkProxy) -> None:
    await road.bar(Bar.BREAKS)
    home = by_road(road, full_stack)
    async with a_worker(home), a_worker(home):
        ids = await take_payments(full_stack, "MPESA", "DISBURSEMENT", 2 * FAULTS)
        await until_up(full_stack, False)
        # Each sees within a second that it is down, and stops; on a busy machine it takes a few of them.
        for _ in range(3):
            if await _only_one_knocks(full_stack, road):
                break
        else:
            pytest.fail("both of them knock")
        await road.open()
        await forget_that_it_is_down(full_stack)
        await until_rows(full_stack, ids, status="COMPLETED")

    assert await moved_for(full_stack, ids) == [1] * len(ids)


async def _only_one_knocks(full_stack: FullStack, road: NetworkProxy) -> bool:
    before, probes = road.travellers, await _probes(full_stack)

    async def has_knocked() -> bool:
        return await _probes(full_stack) > probes

    await until(has_knocked, pause=0.02, what="a knock")
    await asyncio.sleep(1.2)  # In this time the other one has looked, too.
    return road.travellers - before == await _probes(full_stack) - probes


async def _probes(full_stack: FullStack) -> int:
    async with full_stack.database.read() as connection:
        return int(await connection.fetchval("SELECT probe_count FROM open_circuits WHERE connector = 'mpesa'") or 0)


async def test_a_collection_that_waited_too_long_fails_and_is_never_sent_and_payouts_wait(
    full_stack: FullStack, road: NetworkProxy
) -> None:
    before = await database_facts.wallet(full_stack.database, full_stack.merchant.id)
    await road.bar(Bar.REFUSES)
    async with a_worker(by_road(road, full_stack, lapse_seconds=3)):
        tried = await take_payments(full_stack, "MPESA", "COLLECTION", FAULTS)
        await until_up(full_stack, False)
        untried = await take_payments(full_stack, "MPESA", "COLLECTION")
        # It lapses: by now the worker claims nothing for this network.
        await until_rows(full_stack, untried, status="FAILED", failure_code="channel_unavailable")
        payouts = await take_payments(full_stack, "MPESA", "DISBURSEMENT", 2)
        untried += await take_payments(full_stack, "MPESA", "COLLECTION")
        await until_rows(full_stack, tried + untried, status="FAILED", failure_code="channel_unavailable")
        # Payouts can be taken back, and the money is there at once.
        cancelled, kept = payouts
        assert (await full_stack.api("POST", f"/v1/payments/{cancelled}/cancel")).body["transaction"][
            "status"
        ] == "CANCELLED"
        await road.open()
        await forget_that_it_is_down(full_stack)
        await until_rows(full_stack, [kept], status="COMPLETED")

    assert await requests_for(full_stack, [*tried, *untried, cancelled]) == [0] * 8
    assert await moved_for(full_stack, [*tried, *untried, cancelled, kept]) == [0] * 8 + [1]
    statuses = [each["status"] for each in (await full_stack.shown(untried[0]))["statusLogs"]]
    assert statuses == ["PENDING", "FAILED"]
    assert "failureReason" in await full_stack.shown(untried[0])
    assert await database_facts.wallet(full_stack.database, full_stack.merchant.id) == (before[0] - 1000, before[1])


@pytest.fixture
async def home(postgres: str, template: str) -> AsyncIterator[WorkerStack]:
    async with networks() as sim, worker_stack(sim, await create_database(postgres, template)) as home:
        yield home


async def test_a_network_that_hangs_delays_no_other_and_holds_nothing_in_the_database(home: WorkerStack) -> None:
    """More payments hang than a worker has places for one network."""
    assert home.settings.mpesa_base_url is not None
    async with a_network_proxy(home.settings.mpesa_base_url) as road:
        await road.bar(Bar.HANGS)
        hanging = Elsewhere(
            home.database_url, replace(home.settings, mpesa_base_url=road.url, mpesa_concurrency=20, database_pool=4)
        )
        async with a_worker(hanging):
            stuck = await take_payments(home, "MPESA", "DISBURSEMENT", 30)

            async def are_stuck() -> bool:
                rows = await home.rows()
                return sum(bool(rows[id_]["status"] == "PROCESSING") for id_ in stuck) == 20

            await until(are_stuck, what="as many hanging as there are places")
            others = await take_payments(home, "AIRTEL_MONEY", "DISBURSEMENT", 20)
            others += await take_payments(home, "AIRTEL_MONEY", "COLLECTION", 20)

            async def are_done() -> bool:
                rows = await home.rows()
                assert await _idle_in_transaction(home) == 0
                return all(bool(rows[id_]["status"] == "COMPLETED") for id_ in others)

            await until(are_done, pause=0.02, what="the other network's payments")
            await until(lambda: _holds_nothing(home), pause=0.02, what="a database without a lock")
            rows = await home.rows()
            assert sum(rows[id_]["status"] == "PROCESSING" for id_ in stuck) == 20
            assert sum(rows[id_]["status"] == "PENDING" for id_ in stuck) == 10


async def _idle_in_transaction(home: WorkerStack) -> int:
    """Transactions that wait for something else than the database. One is between two statements only for a moment."""
    async with home.database.read() as connection:
        return int(
            await connection.fetchval(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND state LIKE 'idle in transaction%'
                  AND state_change < now() - interval '1 second'
                """
            )
        )


async def _holds_nothing(home: WorkerStack) -> bool:
    async with home.database.read() as connection:
        return not await connection.fetchval(
            """
            SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
            WHERE a.datname = current_database() AND pid <> pg_backend_pid()
              AND (l.locktype IN ('transactionid', 'tuple') OR l.mode IN ('RowShareLock', 'RowExclusiveLock'))
            """
        )

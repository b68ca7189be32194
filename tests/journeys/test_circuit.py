"""A network that is down holds nobody up, loses nothing, and is used again when it is back.

And what else decides when a payment is taken up: a merchant who is closed, a channel that nobody carries, a bell that
rings or does not.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from malipo import clock
from malipo.merchants import onboard
from malipo.networks.contract import Channel
from malipo.payments.transaction import Type
from malipo.service import Service
from tests.api.conftest import place
from tests.conftest import NOBODY, create_database, make_merchant
from tests.journeys import witness
from tests.journeys.hamlet import Hamlet, hamlet, networks
from tests.journeys.road import Bar, Road, a_road
from tests.journeys.town import Elsewhere, Home, Town, a_worker, founded, until

# A payment that could not be sent is tried again so soon after; and a circuit opens at so many faults in a row.
FAULTS = 5
_phones = iter(range(100_000, 999_999))


@pytest.fixture(scope="module")
async def town(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    url = await create_database(postgres, template)
    async with founded(tmp_path_factory.mktemp("town"), url, speed=20) as town:
        yield town
        await witness.assert_clean(town.database)


@pytest.fixture
async def road(town: Town) -> AsyncIterator[Road]:
    """The way to M-Pesa, for workers who take it."""
    await _forget_that_it_is_down(town)
    assert town.settings.mpesa_base_url is not None
    async with a_road(town.settings.mpesa_base_url) as road:
        yield road


def _by(road: Road, town: Town, **settings: Any) -> Home:
    """A worker's home from which M-Pesa is at the end of this road, and whose patience is a second."""
    hasty = {"mpesa_timeout_seconds": 1} | settings
    return Elsewhere(town.database_url, replace(town.settings, mpesa_base_url=road.url, **hasty))


def _phone(channel: str) -> str:
    number = next(number for number in _phones if not 100 <= number % 1000 <= 112)
    return ("+255754" if channel == "MPESA" else "+255684") + str(number)


async def _take(town: Town | Hamlet, channel: str, type_: str, number: int = 1) -> list[str]:
    return [await town.take(channel, type_, _phone(channel)) for _ in range(number)]


async def _rows(town: Town, ids: list[str]) -> dict[str, dict[str, Any]]:
    async with town.database.read() as connection:
        rows = await connection.fetch(
            """
            SELECT t.id, t.status, t.failure_code, t.network_key, t.processing_at, t.phone,
                   d.next_act, d.sends, d.route,
                   (SELECT count(*) FROM hearings h WHERE h.transaction_id = t.id) AS heard
            FROM transactions t LEFT JOIN dispatches d ON d.transaction_id = t.id WHERE t.id = ANY($1)
            """,
            ids,
        )
    found = {row["id"]: dict(row) for row in rows}
    return {id_: found[id_] for id_ in ids}


async def _until(town: Town, ids: list[str], *, seconds: float = 20, **expected: Any) -> None:
    async def are_so() -> bool:
        rows = (await _rows(town, ids)).values()
        return all(row[name] == value for row in rows for name, value in expected.items())

    await until(are_so, seconds=seconds, pause=0.05, what=f"{expected} of {len(ids)}")


async def _up(town: Town) -> dict[str, bool]:
    answer = await town.api("GET", "/v1/channels")
    return {each["channel"]: each["isUp"] for each in answer.body["channels"]}


async def _until_up(town: Town, is_up: bool) -> None:
    async def is_so() -> bool:
        return (await _up(town))["MPESA"] is is_up

    await until(is_so, pause=0.05, what=f"M-Pesa {'up' if is_up else 'down'}")


async def _requests(town: Town, ids: list[str]) -> list[int]:
    """How often the network was asked to move money, for each of these."""
    seen = await town.sim("GET", "/api/seen?limit=2000")
    bodies = [each["body"] for each in seen if each["direction"] == "in" and each["method"] == "POST"]
    return [sum(row["network_key"] in body for body in bodies) for row in (await _rows(town, ids)).values()]


async def _moved(town: Town, ids: list[str]) -> list[int]:
    """How often money moved at the phone of each."""
    book = await town.moved()
    return [len(book.get(row["phone"], [])) for row in (await _rows(town, ids)).values()]


@pytest.mark.parametrize("bar", list(Bar), ids=lambda bar: bar.name.lower())
async def test_a_network_in_trouble_is_left_alone_after_five_faults_and_used_again_when_it_is_back(
    town: Town, road: Road, bar: Bar
) -> None:
    await road.bar(bar)
    async with a_worker(_by(road, town)):
        # Four faults are no proof.
        first = await _take(town, "MPESA", "DISBURSEMENT", FAULTS - 1)
        await _until(town, first, heard=1)
        assert (await _up(town))["MPESA"]
        # The fifth is.
        first += await _take(town, "MPESA", "COLLECTION")
        await _until_up(town, False)
        assert (await _up(town))["AIRTEL_MONEY"]
        # From now on everything waits, and the other network does not.
        waiting = [*await _take(town, "MPESA", "DISBURSEMENT", 2), *await _take(town, "MPESA", "COLLECTION")]
        others = [
            *await _take(town, "AIRTEL_MONEY", "DISBURSEMENT", 3),
            *await _take(town, "AIRTEL_MONEY", "COLLECTION"),
        ]
        await _until(town, others, seconds=8, status="COMPLETED")
        assert {row["status"] for row in (await _rows(town, waiting)).values()} == {"PENDING"}
        assert {row["status"] for row in (await _rows(town, first)).values()} == {"PROCESSING"}
        assert {row["sends"] for row in (await _rows(town, first)).values()} == {0}, "provably nothing has left"
        # Until it is back.
        await road.open()
        await _until_up(town, True)
        await _until(town, first + waiting, status="COMPLETED")

    assert await _requests(town, first + waiting) == [1] * 8
    assert await _moved(town, first + waiting) == [1] * 8


async def test_of_a_fleet_one_knocks_at_a_network_that_is_down(town: Town, road: Road) -> None:
    await road.bar(Bar.BREAKS)
    home = _by(road, town)
    async with a_worker(home), a_worker(home):
        ids = await _take(town, "MPESA", "DISBURSEMENT", 2 * FAULTS)
        await _until_up(town, False)
        await asyncio.sleep(1.2)  # Both see that it is down within a second, and stop.
        before, probes = road.travellers, await _probes(town)

        async def has_knocked() -> bool:
            return await _probes(town) > probes

        await until(has_knocked, seconds=15, pause=0.02, what="a knock")
        await asyncio.sleep(1.2)  # In this time the other one has looked, too.
        assert road.travellers - before == await _probes(town) - probes
        await road.open()
        await _forget_that_it_is_down(town)
        await _until(town, ids, status="COMPLETED")

    assert await _moved(town, ids) == [1] * len(ids)


async def _forget_that_it_is_down(town: Town) -> None:
    """As if somebody else had found out that it is back: the next knock of ours is far away."""
    async with town.database.begin() as tx:
        await tx.execute("DELETE FROM circuits")


async def _probes(town: Town) -> int:
    async with town.database.read() as connection:
        return int(await connection.fetchval("SELECT probes FROM circuits WHERE route = 'mpesa'") or 0)


async def test_a_collection_that_waited_too_long_fails_and_is_never_sent_and_payouts_wait(
    town: Town, road: Road
) -> None:
    before = await witness.wallet(town.database, town.merchant.id)
    await road.bar(Bar.REFUSES)
    async with a_worker(_by(road, town, lapse_seconds=3)):
        tried = await _take(town, "MPESA", "COLLECTION", FAULTS)
        await _until_up(town, False)
        untried = await _take(town, "MPESA", "COLLECTION")
        payouts = await _take(town, "MPESA", "DISBURSEMENT", 2)
        await _until(town, tried + untried, status="FAILED", failure_code="channel_unavailable")
        # Payouts can be taken back, and the money is there at once.
        cancelled, kept = payouts
        assert (await town.api("POST", f"/v1/payments/{cancelled}/cancel")).body["transaction"]["status"] == "CANCELLED"
        await road.open()
        await _forget_that_it_is_down(town)
        await _until(town, [kept], status="COMPLETED")

    assert await _requests(town, [*tried, *untried, cancelled]) == [0] * 7
    assert await _moved(town, [*tried, *untried, cancelled, kept]) == [0] * 7 + [1]
    statuses = [each["status"] for each in (await town.shown(untried[0]))["statusLogs"]]
    assert statuses == ["PENDING", "FAILED"]
    assert "failureReason" in await town.shown(untried[0])
    assert await witness.wallet(town.database, town.merchant.id) == (before[0] - 1000, before[1])


async def test_a_collection_that_waited_too_long_for_a_worker_is_not_sent_either(town: Town) -> None:
    """Nobody was there; the network was. But the customer has gone."""
    service = Service.assemble(town.settings, town.database)
    late, payout = [
        [
            (
                await place(
                    service,
                    town.merchant,
                    at=clock.now() - timedelta(hours=1),
                    type_=type_,
                    channel=Channel.AIRTEL_MONEY,
                    phone=_phone("AIRTEL_MONEY"),
                )
            ).id
        ]
        for type_ in (Type.COLLECTION, Type.DISBURSEMENT)
    ]
    async with town.database.begin() as tx:
        await tx.execute(
            """
            UPDATE dispatches SET due_at = due_at - interval '1 hour', queued_at = queued_at - interval '1 hour'
            WHERE transaction_id = ANY($1)
            """,
            [*late, *payout],
        )

    async with a_worker(town):
        await _until(town, late, status="FAILED", failure_code="channel_unavailable")
        await _until(town, payout, status="COMPLETED")

    assert await _requests(town, late) == [0]


async def test_a_channel_that_nobody_carries_lets_collections_lapse_and_payouts_wait(town: Town) -> None:
    alone = Elsewhere(town.database_url, replace(town.settings, airtel_money_base_url=None, lapse_seconds=1))
    collections = await _take(town, "AIRTEL_MONEY", "COLLECTION", 2)
    [payout] = await _take(town, "AIRTEL_MONEY", "DISBURSEMENT")

    async with a_worker(alone):
        await _until(town, collections, status="FAILED", failure_code="channel_unavailable")

    assert (await _rows(town, [payout]))[payout]["status"] == "PENDING"
    assert (await town.api("POST", f"/v1/payments/{payout}/cancel")).status == 200
    assert await _moved(town, [*collections, payout]) == [0, 0, 0]


@pytest.fixture
async def home(postgres: str, template: str) -> AsyncIterator[Hamlet]:
    async with networks() as sim, hamlet(sim, await create_database(postgres, template)) as home:
        yield home


async def test_a_network_that_hangs_delays_no_other_and_holds_nothing_in_the_database(home: Hamlet) -> None:
    """More payments hang than a worker has places for one network."""
    assert home.settings.mpesa_base_url is not None
    async with a_road(home.settings.mpesa_base_url) as road:
        await road.bar(Bar.HANGS)
        hanging = Elsewhere(
            home.database_url, replace(home.settings, mpesa_base_url=road.url, mpesa_concurrency=20, database_pool=4)
        )
        async with a_worker(hanging):
            stuck = await _take(home, "MPESA", "DISBURSEMENT", 30)

            async def are_stuck() -> bool:
                rows = await home.rows()
                return sum(bool(rows[id_]["status"] == "PROCESSING") for id_ in stuck) == 20

            await until(are_stuck, what="as many hanging as there are places")
            began = asyncio.get_running_loop().time()
            others = await _take(home, "AIRTEL_MONEY", "DISBURSEMENT", 20)
            others += await _take(home, "AIRTEL_MONEY", "COLLECTION", 20)

            async def are_done() -> bool:
                rows = await home.rows()
                assert await _idle_in_transaction(home) == 0
                return all(bool(rows[id_]["status"] == "COMPLETED") for id_ in others)

            await until(are_done, seconds=10, pause=0.02, what="the other network's payments")
            assert asyncio.get_running_loop().time() - began < 10
            await until(lambda: _holds_nothing(home), seconds=5, pause=0.02, what="a database without a lock")
            rows = await home.rows()
            assert sum(rows[id_]["status"] == "PROCESSING" for id_ in stuck) == 20
            assert sum(rows[id_]["status"] == "PENDING" for id_ in stuck) == 10


async def _idle_in_transaction(home: Hamlet) -> int:
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


async def _holds_nothing(home: Hamlet) -> bool:
    async with home.database.read() as connection:
        return not await connection.fetchval(
            """
            SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
            WHERE a.datname = current_database() AND pid <> pg_backend_pid()
              AND (l.locktype IN ('transactionid', 'tuple') OR l.mode IN ('RowShareLock', 'RowExclusiveLock'))
            """
        )


async def _set_active(town: Town, merchant_id: str, is_active: bool) -> None:
    async with town.database.begin() as tx:
        await onboard.set_active(tx, merchant_id, is_active=is_active, actor=NOBODY, now=clock.now())


async def test_payouts_of_a_closed_merchant_wait_and_go_out_when_it_is_open_again(town: Town) -> None:
    """Nobody rings the bell for that: they are found by looking."""
    closed = await make_merchant(town.database, wallet=10_000, name="Closed")
    theirs = Town(**{**town.__dict__, "api": town.api.as_(closed.key), "merchant": closed})
    payouts = [*await _take(theirs, "MPESA", "DISBURSEMENT"), *await _take(theirs, "AIRTEL_MONEY", "DISBURSEMENT")]
    await _set_active(town, closed.id, False)

    async with a_worker(town):
        for _ in range(2):
            # Somebody else's, twice: the worker has looked, and looked again.
            others = [*await _take(town, "MPESA", "DISBURSEMENT"), *await _take(town, "AIRTEL_MONEY", "DISBURSEMENT")]
            await _until(town, others, status="COMPLETED")
        assert {row["status"] for row in (await _rows(town, payouts)).values()} == {"PENDING"}
        await _set_active(town, closed.id, True)
        await _until(town, payouts, status="COMPLETED", seconds=10)

    assert await _moved(town, payouts) == [1, 1]
    assert await witness.wallet(town.database, closed.id) == (8_000, 0)


async def test_a_worker_that_starts_late_finds_what_nobody_rings_for_any_more(town: Town) -> None:
    ids = [
        *await _take(town, "MPESA", "DISBURSEMENT", 3),
        *await _take(town, "MPESA", "COLLECTION", 3),
        *await _take(town, "AIRTEL_MONEY", "DISBURSEMENT", 3),
    ]

    async with a_worker(town):
        await _until(town, ids, status="COMPLETED", seconds=10)

    assert await _moved(town, ids) == [1] * 9


async def test_a_worker_whose_bell_rope_is_cut_still_finds_everything(town: Town) -> None:
    async with a_worker(town):
        for _ in range(3):
            await until(lambda: _cut_the_rope(town), what="a rope to cut")
            ids = [*await _take(town, "MPESA", "DISBURSEMENT"), *await _take(town, "AIRTEL_MONEY", "COLLECTION")]
            await _until(town, ids, status="COMPLETED", seconds=10)


async def _cut_the_rope(town: Town) -> bool:
    async with town.database.read() as connection:
        return bool(
            await connection.fetchval(
                """
                SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE application_name = 'malipo bell' AND datname = current_database()
                """
            )
        )


async def test_an_idle_worker_is_woken_by_the_bell(town: Town) -> None:
    """By itself it looks once a second."""
    async with a_worker(town):
        await _until(town, await _take(town, "AIRTEL_MONEY", "DISBURSEMENT"), status="COMPLETED")
        ids = []
        for _ in range(9):
            ids += await _take(town, "AIRTEL_MONEY", "DISBURSEMENT")
            await _until(town, ids[-1:], status="COMPLETED")

    async with town.database.read() as connection:
        rows = await connection.fetch(
            "SELECT processing_at - created_at AS waited FROM transactions WHERE id = ANY($1)", ids
        )
    waited = sorted(row["waited"].total_seconds() for row in rows)
    assert waited[len(waited) // 2] < 0.5, waited

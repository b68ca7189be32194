"""Ways past the fence that are open still. Each test says what must hold, and does not hold yet."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from malipo import clock
from malipo.payments.initiate import Initiate
from malipo.payments.store import dispatches
from malipo.payments.transaction import Type
from malipo.restore.fence import fence
from tests.conftest import NOBODY
from tests.journeys.crowd import order
from tests.journeys.restored import a_host, back_up, bring_back, installation, pay, statuses, until_looked
from tests.journeys.town import Town, founded, until


@pytest.fixture
async def town(tmp_path: Path, database_url: str) -> AsyncIterator[Town]:
    async with founded(tmp_path, database_url) as town:
        yield town


@pytest.mark.xfail(
    strict=True, reason="a worker that died lives for a minute, by what the restored database says of it"
)
async def test_a_new_host_is_alone_although_the_backup_says_that_a_worker_was_seen_just_now(
    town: Town, tmp_path: Path
) -> None:
    worker = town.start("worker", state_dir=str(tmp_path / "state"))
    await until_looked(town)
    assert (await pay(town, "AIRTEL_MONEY", "+255684000200", "order-1")).status == 201

    async def is_paid() -> bool:
        return (await statuses(town))["+255684000200"] == "COMPLETED"

    await until(is_paid, what="the payout")
    backup = await back_up(town.database_url)
    worker.kill()
    await bring_back(town.database_url, backup)
    async with a_host(town, tmp_path / "new"):

        async def has_looked() -> bool:
            return any(path.read_text().strip() for path in (tmp_path / "new").glob("*.mark"))

        await until(has_looked, what="the new host's mark")
        assert (await installation(town))["fenced_at"] is not None


@pytest.mark.xfail(strict=True, reason="two workers that count at the same time come to the same number")
async def test_a_batch_that_is_lost_alone_is_missed_by_the_worker_that_sent_it(town: Town) -> None:
    """Two workers claim at once; the fail-over loses the second commit. Its worker has seen more than there is."""
    async with town.database.begin() as tx:
        await tx.execute("INSERT INTO send_marks (worker_id, host) VALUES ('wrk_a', 'a'), ('wrk_b', 'b')")
    totals: list[int] = []
    async with town.database.begin() as kept, town.database.begin() as lost:
        for tx, worker_id in ((kept, "wrk_a"), (lost, "wrk_b")):
            taken = await dispatches.take(
                tx, [], route="mpesa", claim=f"clm_{worker_id}", lease_seconds=30, worker_id=worker_id
            )
            totals.append(taken)
    in_the_kept_half = 1
    assert totals[1] > in_the_kept_half


@pytest.mark.xfail(strict=True, reason="a batch of requests reads the fence without holding it")
async def test_what_is_taken_in_while_the_fence_goes_up_is_asked_about_too(town: Town) -> None:
    """A batch of requests has read that nothing is fenced, and commits when it is."""

    async def fence_it() -> None:
        async with town.database.begin() as tx:
            await fence(tx, "The database was restored.", actor=NOBODY, now=clock.now())

    wanted = order(town.merchant.id, Type.DISBURSEMENT, 1000, key="order-1")
    async with town.database.begin() as batch:
        await Initiate(clock=clock.now)(batch, [wanted], again=False)
        fencing = asyncio.ensure_future(fence_it())
        # It may wait for the batch, but need not.
        await asyncio.wait([fencing], timeout=1)
    await fencing
    async with town.database.read() as connection:
        assert await connection.fetchval("SELECT is_asked_first FROM dispatches")

"""A worker whose schema was migrated away from under it sends nothing, and says so, until the schema serves it again."""

from functools import partial
from pathlib import Path

from tests.journeys.full_stack import until
from tests.journeys.worker.worker_stacks import home as home
from tests.journeys.worker.worker_stacks import sim as sim
from tests.journeys.worker_stack import WorkerStack, a_real_worker


async def _has_left(home: WorkerStack) -> bool:
    async with home.database.read() as connection:
        workers = await connection.fetch("SELECT worker_id FROM worker_send_counts")
    return [row["worker_id"] for row in workers] == ["wrk_ended"]


async def test_a_worker_sends_nothing_on_a_schema_that_no_longer_serves_it(home: WorkerStack, tmp_path: Path) -> None:
    with a_real_worker(home, tmp_path) as worker:
        await home.take("MPESA", "DISBURSEMENT", "+255754471001")
        await home.until_all_ended()
        async with home.database.begin() as tx:
            await tx.execute("INSERT INTO schema_migrations (number, name, checksum) VALUES (9001, 'of_later', '')")
        # It has not looked yet, and is woken by this payment.
        await home.take("MPESA", "DISBURSEMENT", "+255754471002")
        await home.take("MPESA", "COLLECTION", "+255754470003")

        async def has_told() -> bool:
            return "schema.not_served" in worker.log.read_text()

        await until(has_told, what="its noticing")
        assert "no longer serves this version of malipo" in worker.log.read_text()
        # It takes its leave, and then writes nothing: not even that it has looked.
        await until(partial(_has_left, home), what="its leave")
        async with home.database.read() as connection:
            await connection.execute("SELECT pg_sleep(2)")
        assert await _has_left(home)
        assert sorted((await home.requests()).values()) == [0, 0, 1]

        async with home.database.begin() as tx:
            await tx.execute("DELETE FROM schema_migrations WHERE number = 9001")
        await home.until_all_ended()
    await home.assert_each_was_sent_once()

"""A worker reports the channels that it carries: operators cancel nothing that it would send."""

from pathlib import Path

from malipo.restore.store import send_counts
from malipo.restore.worker_reports import WorkerCoverage, served_by
from tests.journeys.full_stack import until
from tests.journeys.worker.worker_stacks import home as home
from tests.journeys.worker.worker_stacks import sim as sim
from tests.journeys.worker_stack import WorkerStack, a_real_worker


async def test_a_worker_reports_what_its_settings_connect(home: WorkerStack, tmp_path: Path) -> None:
    async def served() -> WorkerCoverage:
        async with home.database.read() as connection:
            return served_by(await send_counts.find_reports(connection), "MPESA DISBURSEMENT")

    assert await served() is WorkerCoverage.UNKNOWN
    with a_real_worker(home, tmp_path):

        async def is_reported() -> bool:
            return await served() is WorkerCoverage.YES

        await until(is_reported, what="its report")

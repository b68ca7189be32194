"""What workers report that they carry, and what that says of a channel."""

from pathlib import Path

import pytest

from malipo.app.assemble import Service
from malipo.restore.restore_detector import RestoreDetector
from malipo.restore.store import send_counts
from malipo.restore.worker_reports import WorkerCoverage, WorkerReport, served_by

MPESA, AIRTEL = "MPESA DISBURSEMENT", "AIRTEL_MONEY DISBURSEMENT"


def report(*routes: str, is_running: bool = True) -> WorkerReport:
    return WorkerReport(frozenset(routes), is_running)


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ([], WorkerCoverage.UNKNOWN),
        ([report()], WorkerCoverage.NO),
        ([report(AIRTEL)], WorkerCoverage.NO),
        ([report(MPESA)], WorkerCoverage.YES),
        ([report(AIRTEL), report(MPESA, AIRTEL)], WorkerCoverage.YES),
        ([report(AIRTEL), report(MPESA, is_running=False)], WorkerCoverage.YES),  # It may come back.
        ([report(AIRTEL, is_running=False)], WorkerCoverage.UNKNOWN),
    ],
)
def test_a_channel_is_served_if_any_worker_carries_it(reports: list[WorkerReport], expected: WorkerCoverage) -> None:
    assert served_by(reports, MPESA) is expected


async def test_a_worker_reports_what_it_carries_with_each_look(service: Service, tmp_path: Path) -> None:
    async def reports() -> list[WorkerReport]:
        async with service.queries.database.read() as connection:
            return await send_counts.find_reports(connection)

    def worker(routes: list[str] | None) -> RestoreDetector:
        return RestoreDetector(
            service.queries.database, tmp_path, fence=service.fence, patience_seconds=0, routes=routes
        )

    first = worker([MPESA])
    await first.look()
    assert await reports() == [report(MPESA)]
    await first.leave()
    assert await reports() == [report(MPESA, is_running=False)], "it may come back with what it carried"
    again = worker([AIRTEL])
    await again.look()
    assert await reports() == [report(AIRTEL)], "it came back with other settings"
    async with service.queries.database.begin() as tx:
        await tx.execute("UPDATE worker_send_counts SET routes_at = routes_at - interval '2 minutes'")
    assert await reports() == [report(AIRTEL, is_running=False)]
    async with service.queries.database.begin() as tx:
        await tx.execute("UPDATE worker_send_counts SET routes_at = routes_at - interval '1 hour'")
    assert await reports() == []
    await again.leave()
    before = worker(None)
    await before.look()
    assert await reports() == [], "a version before does not report"
    await before.leave()

"""PostgreSQL is killed, stopped, made read-only, and its disk is filled, under load."""

import asyncio
import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.drills.drilled_stack import DrilledStack, drilled_stack
from tests.drills.figures import Record
from tests.drills.figures import record as record
from tests.drills.steady_load import SteadyLoad
from tests.journeys.full_stack import until
from tests.journeys.postgres_cluster import Cluster, a_cluster

pytestmark = pytest.mark.slow

_SHORT_SECONDS = 5  # less than MALIPO_DATABASE_PATIENCE_SECONDS
_FAILED = 60  # answers, until the failure is over
# A disk that is full soon: little log is kept, and none of it elsewhere.
_SMALL = ("wal_keep_size = 0", "min_wal_size = '32MB'", "max_wal_size = '48MB'", "archive_mode = off")


@pytest.fixture
async def drilled(tmp_path: Path) -> AsyncIterator[DrilledStack]:
    with a_cluster() as cluster:
        async with drilled_stack(tmp_path, cluster) as drilled:
            yield drilled


def _kill_postgres(cluster: Cluster) -> None:
    """Its other processes end by themselves; the next start waits for them."""
    os.kill(int((cluster.data / "postmaster.pid").read_text().splitlines()[0]), signal.SIGKILL)


def _start_again(cluster: Cluster) -> None:
    """As an init system tries it, until the processes of the server before have ended."""
    for _ in range(60):
        with contextlib.suppress(AssertionError):
            cluster.start()
            return
    raise AssertionError((cluster.folder / "server.log").read_text()[-2000:])


async def test_kill_9_of_postgresql(drilled: DrilledStack, record: Record) -> None:
    async with drilled.under_load() as load:
        for _ in range(3):
            _kill_postgres(drilled.cluster)
            await asyncio.to_thread(_start_again, drilled.cluster)
            await load.until_more(100)
    record("kill -9 of PostgreSQL, three times", await drilled.compare(load))


async def test_a_postgresql_that_is_stopped_for_less_than_the_patience_fails_nobody(
    drilled: DrilledStack, record: Record
) -> None:
    async with drilled.under_load() as load:
        await asyncio.to_thread(drilled.cluster.stop)
        await asyncio.sleep(_SHORT_SECONDS)
        await asyncio.to_thread(drilled.cluster.start)
    figures = await drilled.compare(load)
    record(f"PostgreSQL stopped for {_SHORT_SECONDS} s", figures)
    assert figures.failed_first == 0


async def test_a_postgresql_that_is_stopped_for_longer(drilled: DrilledStack, record: Record) -> None:
    async with drilled.under_load() as load:
        await asyncio.to_thread(drilled.cluster.stop)
        await load.until_more(_FAILED, good=False)
        await asyncio.to_thread(drilled.cluster.start)
    record("PostgreSQL stopped until answers failed", await drilled.compare(load))
    _assert_told_to_try_again(load)


async def test_a_read_only_database(drilled: DrilledStack, record: Record) -> None:
    def set_read_only(value: str) -> None:
        drilled.cluster.configure(f"default_transaction_read_only = {value}")
        drilled.cluster.run("pg_ctl", "-D", str(drilled.cluster.data), "reload")

    async with drilled.under_load() as load:
        await asyncio.to_thread(set_read_only, "on")
        await load.until_more(_FAILED, good=False)
        await _assert_not_ready(drilled)
        await asyncio.to_thread(set_read_only, "off")
    record("read-only database", await drilled.compare(load))
    _assert_told_to_try_again(load)


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of 300 MB: root mounts it."""
    if os.getuid() != 0:
        pytest.skip("only root can mount a disk")
    folder = Path(tempfile.mkdtemp(prefix="malipo-small-disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300m,mode=755", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


async def test_a_full_disk_of_the_database(small_disk: Path, tmp_path: Path, record: Record) -> None:
    with a_cluster(small_disk) as cluster:
        cluster.configure(*_SMALL)
        cluster.stop()
        cluster.start()
        async with drilled_stack(tmp_path, cluster) as drilled:
            async with drilled.under_load() as load:
                _fill(small_disk / "ballast")
                await load.until_more(_FAILED, good=False, seconds=180)
                await _assert_not_ready(drilled)
                (small_disk / "ballast").unlink()
                # A server that could not write its log has ended, and is started by an operator.
                if not cluster.answers():
                    await asyncio.to_thread(_start_again, cluster)
            record("full disk of PostgreSQL", await drilled.compare(load))
            _assert_told_to_try_again(load)


def _fill(file: Path) -> None:
    """Until nothing more can be written."""
    with file.open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
        for size in (1 << 20, 1 << 12):
            with contextlib.suppress(OSError):
                while True:
                    ballast.write(bytes(size))


async def _assert_not_ready(drilled: DrilledStack) -> None:
    async def is_not_ready() -> bool:
        return (await drilled.full_stack.api("GET", "/readyz")).status == 503

    await until(is_not_ready, what="/readyz with 503")


def _assert_told_to_try_again(load: SteadyLoad) -> None:
    """No client is told anything wrong: nothing but 503, which the same key may follow."""
    assert {said[0] for said in load.failed} == {503}, load.refusals

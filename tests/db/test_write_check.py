"""/readyz and the gauge tell a database on a full disk, which answers every read."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from malipo import clock
from malipo.app.assemble import Service, assemble
from malipo.bank.balance import find_seen
from malipo.db import Database
from malipo.db.migrate import migrate
from malipo.metrics.process_metrics import Metrics
from malipo.monitoring.collector import Collector
from malipo.settings import Settings
from tests.db.test_readiness import look
from tests.journeys.postgres_cluster import Cluster, a_cluster

GRACE = replace(Settings(), ready_grace_seconds=300)
FULL = (503, "The database takes no writes: its disk is full.")


@pytest.fixture
def small_disk() -> Iterator[tuple[Cluster, Path]]:
    """A server whose data lie on a disk of their own, and a file that can fill it."""
    with a_cluster() as cluster:
        cluster.stop()
        kept = cluster.copy("kept")
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m", "malipo", cluster.data], check=False)
        if done.returncode != 0:
            pytest.skip("only root can mount a disk")
        try:
            cluster.data.chmod(0o700)
            os.chown(cluster.data, kept.stat().st_uid, kept.stat().st_gid)
            cluster.run_program("cp", "-a", f"{kept}/.", str(cluster.data))
            cluster.start()
            yield cluster, cluster.data / "filling"
            cluster.stop("immediate")
        finally:
            subprocess.run(["umount", "--lazy", cluster.data], check=True)


def fill(file: Path) -> None:
    """Until no byte is left."""
    with file.open("wb", buffering=0) as opened:
        for size in (2**20, 4096, 1):
            try:
                while True:
                    opened.write(b"0" * size)
            except OSError:
                pass


async def until(service: Service, expected: tuple[int, str]) -> None:
    while await look(service) != expected:
        pass


async def test_a_full_disk_is_503_with_its_reason_and_ends_when_there_is_room(
    small_disk: tuple[Cluster, Path],
) -> None:
    cluster, filling = small_disk
    async with Database.opened(cluster.url, size=4) as database:
        await migrate(database)
        service, metrics = assemble(GRACE, database), Metrics()
        collector = Collector(
            database, metrics.money, service.settings, clock.now, service.health.monitor.schema, find_seen
        )
        assert await look(service) == (200, "")
        await collector.look()
        assert "malipo_database_writable 1.0" in metrics.exposition().decode()

        fill(filling)
        await until(service, FULL)
        gauges = ""
        while "malipo_database_writable 0.0" not in gauges:
            await collector.look()
            gauges = metrics.exposition().decode()
        assert "malipo_database_up 1.0" in gauges, "it answers"
        filling.unlink()
        await until(service, (200, ""))


async def temporary_files(database: Database, database_url: str, *, looks: int) -> tuple[int, float]:
    """How many the server wrote for so many looks, and how long those took. Its sessions report it when they end."""
    count = "SELECT temp_files FROM pg_stat_database WHERE datname = current_database()"
    async with database.read() as connection:
        before: int = await connection.fetchval(count)
    async with Database.opened(database_url, size=2) as asked:
        service = assemble(GRACE, asked)
        begun = asyncio.get_running_loop().time()
        for _ in range(looks):
            assert await look(service) == (200, "")
        took = asyncio.get_running_loop().time() - begun
    while True:
        async with database.read() as connection:
            if (after := await connection.fetchval(count)) > before:
                return after - before, took


async def test_it_writes_at_most_once_a_second_however_often_it_is_asked(database: Database, database_url: str) -> None:
    one, _ = await temporary_files(database, database_url, looks=1)
    many, seconds = await temporary_files(database, database_url, looks=20)
    assert many <= one * (1 + seconds)

"""The processes of malipo are replaced and killed under load."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.drills.drilled_stack import SOME, DrilledStack, drilled_stack
from tests.drills.figures import Record
from tests.drills.figures import record as record
from tests.drills.proxies import a_proxy
from tests.drills.units import Unit
from tests.journeys.full_stack import until
from tests.journeys.postgres_cluster import a_cluster

pytestmark = pytest.mark.slow

_RESTART_SECONDS = 1  # RestartSec of the units


@pytest.fixture
async def drilled(tmp_path: Path) -> AsyncIterator[DrilledStack]:
    with a_cluster() as cluster:
        async with drilled_stack(tmp_path, cluster, trusted_proxies="127.0.0.1") as drilled:
            yield drilled


async def _kill_and_restart(unit: Unit) -> None:
    await asyncio.to_thread(unit.kill)
    await asyncio.sleep(_RESTART_SECONDS)
    unit.start()


async def _until_working(drilled: DrilledStack) -> None:
    """The worker of the first payments has sent some."""

    async def has_moved() -> bool:
        return bool(await drilled.full_stack.moved())

    await until(has_moved, what="the first movement")


async def test_kill_9_of_the_api(drilled: DrilledStack, record: Record) -> None:
    async with drilled.under_load() as load:
        for _ in range(3):
            await _kill_and_restart(drilled.api)
            await load.until_more(SOME)
    record("kill -9 of the API, three times", await drilled.compare(load))


async def test_kill_9_of_the_worker(drilled: DrilledStack, record: Record) -> None:
    async with drilled.under_load() as load:
        for _ in range(3):
            await _until_working(drilled)
            await _kill_and_restart(drilled.worker)
            await load.until_more(SOME)
    figures = await drilled.compare(load)
    record("kill -9 of the worker, three times", figures)
    assert figures.failed_first == 0


async def test_reload_and_restart_of_both(drilled: DrilledStack, record: Record) -> None:
    async with drilled.under_load() as load:
        for act in (Unit.reload, Unit.restart, Unit.reload, Unit.restart):
            for unit in (drilled.api, drilled.worker):
                await asyncio.to_thread(act, unit)
            await load.until_more(SOME)
    figures = await drilled.compare(load)
    record("reload and restart of the API and the worker, twice", figures)
    assert figures.failed_first == 0


async def test_reload_of_the_proxy(drilled: DrilledStack, record: Record, tmp_path: Path) -> None:
    with a_proxy("nginx", tmp_path, upstream=drilled.api.port) as proxy:
        await proxy.until_ready()
        drilled.full_stack.api.url = proxy.url
        async with drilled.under_load() as load:
            for _ in range(5):
                proxy.reload()
                await load.until_more(SOME)
        record("reload of nginx, five times", await drilled.compare(load))

"""Hamlets whose workers die or sleep: their networks, and how to see that a worker is dead or waits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.conftest import create_database
from tests.journeys.full_stack import until
from tests.journeys.worker_stack import CrashingWorker, WorkerStack, networks, worker_stack
from tests.simulator.processes import Sim


@pytest.fixture(scope="module")
async def sim() -> AsyncIterator[Sim]:
    async with networks() as sim:
        yield sim


@pytest.fixture(scope="module")
async def slow() -> AsyncIterator[Sim]:
    """Networks whose row 103 takes two seconds to answer."""
    async with networks(speed=4) as slow:
        yield slow


async def until_dead(worker: CrashingWorker) -> None:
    async def is_dead() -> bool:
        return worker.has_ended()

    await until(is_dead, what="the worker's death")


@asynccontextmanager
async def a_home(sim: Sim, postgres: str, template: str, **settings: Any) -> AsyncIterator[WorkerStack]:
    async with worker_stack(sim, await create_database(postgres, template), **settings) as home:
        yield home


@pytest.fixture
async def home(sim: Sim, postgres: str, template: str) -> AsyncIterator[WorkerStack]:
    async with a_home(sim, postgres, template) as home:
        yield home


async def waits_for(home: WorkerStack, condition: str) -> bool:
    async with home.database.read() as connection:
        return bool(
            await connection.fetchval(
                f"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND {condition}"
            )
        )

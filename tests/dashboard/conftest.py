"""One live service for all tests of the dashboard. Each test has a merchant and people of its own."""

from collections.abc import AsyncIterator

import pytest

from malipo.app.assemble import Service, assemble
from malipo.db import Database
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, PATIENCE_SECONDS, Running, create_database, starting, until_ready
from tests.kept_database import PlanningDatabase

# Most tests of operators are not about the second factor. Those that are have it required, or set one up.
OPTIONAL = {"operator_second_factor": "optional"}


@pytest.fixture(scope="package")
async def database_url(postgres: str, template: str) -> str:
    return await create_database(postgres, template)


@pytest.fixture(scope="package")
async def database(database_url: str) -> AsyncIterator[Database]:
    async with PlanningDatabase.opened(database_url, size=10, connect_seconds=PATIENCE_SECONDS) as database:
        yield database


@pytest.fixture(scope="package")
async def service(database: Database) -> AsyncIterator[Service]:
    """The parts on the same database, to do what a network or an operator would."""
    service = assemble(Settings(**NO_LIMITS), database)
    yield service
    await service.finish()


@pytest.fixture(scope="package")
async def running(tmp_path_factory: pytest.TempPathFactory, database_url: str) -> AsyncIterator[Running]:
    """The site, without rate limits. It believes a proxy on 127.0.0.1, and none on 127.0.0.2."""
    with starting(tmp_path_factory.mktemp("dashboard")) as start:
        yield await until_ready(
            start("api", database_url=database_url, trusted_proxies="127.0.0.1", **NO_LIMITS, **OPTIONAL)
        )

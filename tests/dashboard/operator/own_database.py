"""A site with a database of its own, for tests that change or look at what all merchants share.

Import its four fixtures: they stand in for those that the other tests of the dashboard share.
"""

from collections.abc import AsyncIterator

import pytest

from malipo.app.assemble import Service, assemble
from malipo.db import Database
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, PATIENCE_SECONDS, Running, create_database, starting, until_ready
from tests.dashboard.conftest import OPTIONAL


@pytest.fixture
async def database_url(postgres: str, template: str) -> str:
    return await create_database(postgres, template)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    async with Database.opened(database_url, size=10, connect_seconds=PATIENCE_SECONDS) as database:
        yield database


@pytest.fixture
async def service(database: Database) -> AsyncIterator[Service]:
    service = assemble(Settings(**NO_LIMITS), database)
    yield service
    await service.finish()


@pytest.fixture
async def running(tmp_path_factory: pytest.TempPathFactory, database_url: str) -> AsyncIterator[Running]:
    with starting(tmp_path_factory.mktemp("own")) as start:
        yield await until_ready(
            start("api", database_url=database_url, trusted_proxies="127.0.0.1", **NO_LIMITS, **OPTIONAL)
        )

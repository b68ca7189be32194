"""malipo as it is installed: a unit for the API, a unit for the worker, a PostgreSQL of its own, and simulated networks."""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from malipo.db import Database
from malipo.db.migrate import migrate
from tests.conftest import until_ready
from tests.drills.figures import compare
from tests.drills.steady_load import SteadyLoad, running
from tests.drills.summary import Figures
from tests.drills.units import Unit, a_unit, listening
from tests.journeys.full_stack import FullStack, full_stack_started
from tests.journeys.postgres_cluster import Cluster

# Few enough for two cores on which all of it runs.
PER_SECOND = 25
# Around a failure: enough for connections to stand, and to see that all goes on.
SOME = 150


@dataclass
class DrilledStack:
    full_stack: FullStack
    cluster: Cluster
    api: Unit
    worker: Unit

    @asynccontextmanager
    async def under_load(self) -> AsyncIterator[SteadyLoad]:
        """Some good answers before the failure, and some after it."""
        load = SteadyLoad([self.full_stack.api], first=0, retries=True)
        async with running(load, per_second=PER_SECOND):
            await load.until_more(SOME)
            yield load
            await load.until_more(SOME)

    async def compare(self, load: SteadyLoad) -> Figures:
        return await compare(self.full_stack.database, self.full_stack.sim, load)


@asynccontextmanager
async def drilled_stack(
    folder: Path, cluster: Cluster, *, environment: dict[str, str] | None = None, **settings: Any
) -> AsyncIterator[DrilledStack]:
    """Calls to networks have little time, so that what a killed worker had claimed is taken up soon."""
    async with Database.opened(cluster.url, size=4) as database:
        await migrate(database)
    settings = {"airtel_money_timeout_seconds": 30} | settings
    with ExitStack() as stack:
        listener = stack.enter_context(listening())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with full_stack_started(folder, cluster.url, api_url=url, **settings) as full_stack:
            variables = full_stack.environment | {"MALIPO_DATABASE_URL": cluster.url} | (environment or {})
            api, worker = (
                stack.enter_context(
                    a_unit(folder / part, "serve", "--only", part, environment=variables, listener=socket)
                )
                for part, socket in (("api", listener), ("worker", None))
            )
            await until_ready(api.service, seconds=60)
            try:
                yield DrilledStack(full_stack, cluster, api, worker)
            finally:
                api.close()
                worker.close()

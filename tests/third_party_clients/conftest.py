"""The simulator's own process as its tests have it, and one process for each library for as long as the tests run."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.simulator.conftest import credentials, folder, http, process, sim
from tests.simulator.processes import Sim
from tests.third_party_clients.client_library import NAMED, Driver, Understood

__all__ = ["credentials", "folder", "http", "process", "sim"]

Asking = Callable[..., Understood]


@pytest.fixture(scope="session")
def drivers() -> Iterator[Callable[[str], Driver]]:
    running: dict[str, Driver] = {}

    def driver(name: str) -> Driver:
        if name not in running:
            running[name] = Driver.started(NAMED[name])
        return running[name]

    yield driver
    for each in running.values():
        each.stop()


@pytest.fixture
async def asking(sim: Sim, drivers: Callable[[str], Driver]) -> Callable[[str], Asking]:
    """A library by its name, to be asked to do something at this simulator."""

    def asker(name: str) -> Asking:
        def ask(do: str, *, credentials: Any = sim.credentials, **fields: Any) -> Understood:
            return drivers(name).ask(sim.url, credentials, do, **fields)

        return ask

    return asker

"""A PostgreSQL as the simulation has it, with its template."""

from collections.abc import Iterator

import pytest

from malipo.db.embedded import server
from simulation import template
from simulation.template import Server


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("simulation")) as url:
        prepared = Server(url)
        template.prepare([prepared])
        yield prepared

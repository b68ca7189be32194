"""A PostgreSQL as the simulation has it, with its template."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from malipo.db.embedded import server
from simulation.template import Server

ROOT = Path(__file__).parents[2]
# In a process of its own: it puts another clock and other random numbers in place.
_PREPARE = "import sys; from simulation import template; template.prepare(template.Server(sys.argv[1]))"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("simulation")) as url:
        subprocess.run([sys.executable, "-c", _PREPARE, url], cwd=ROOT, check=True)
        yield Server(url)

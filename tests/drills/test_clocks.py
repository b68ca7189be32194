"""The clock of malipo's host jumps under load, forward and back; PostgreSQL's does not. It needs libfaketime."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from tests.drills.drilled_stack import SOME, DrilledStack, drilled_stack
from tests.drills.figures import Record
from tests.drills.figures import record as record
from tests.journeys.full_stack import until
from tests.journeys.postgres_cluster import a_cluster

pytestmark = pytest.mark.slow

LIBRARIES = list(Path("/usr/lib").glob("*-linux-gnu/faketime/libfaketime.so.1"))


@pytest.fixture
async def drilled(tmp_path: Path) -> AsyncIterator[DrilledStack]:
    assert LIBRARIES, "This test needs libfaketime: apt-get install libfaketime"
    (tmp_path / "clock").write_text("+0")
    environment = {
        "LD_PRELOAD": str(LIBRARIES[0]),
        "FAKETIME_TIMESTAMP_FILE": str(tmp_path / "clock"),
        "FAKETIME_NO_CACHE": "1",  # A change of the file is a jump of the clock.
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }
    with a_cluster() as cluster:
        async with drilled_stack(tmp_path, cluster, environment=environment) as drilled:
            yield drilled


@pytest.mark.parametrize("jump", ["+3600", "-3600"], ids=["ahead", "behind"])
async def test_a_clock_that_jumps_by_an_hour_and_back_again(
    drilled: DrilledStack, record: Record, tmp_path: Path, jump: str
) -> None:
    async with drilled.under_load() as load:
        (tmp_path / "clock").write_text(jump)
        await load.until_more(SOME)
        for part in ("api", "worker"):
            await until(partial(_is_logged, tmp_path / part), what="clock.differs in the log")
        (tmp_path / "clock").write_text("+0")
    direction = "forward" if jump.startswith("+") else "back"
    figures = await drilled.compare(load)
    record(f"clock of malipo's host an hour {direction}, and right again", figures)
    assert figures.failed_first == 0


async def _is_logged(folder: Path) -> bool:
    return '"event":"clock.differs"' in (folder / "malipo.log").read_text()

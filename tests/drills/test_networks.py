"""A network is slow, cannot be reached, or does and does not answer, under load. Clients notice nothing of it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.drills.drilled_stack import SOME, DrilledStack, drilled_stack
from tests.drills.figures import Record
from tests.drills.figures import record as record
from tests.journeys.postgres_cluster import a_cluster

pytestmark = pytest.mark.slow

# The simulator's clock runs ten times as fast as ours.
_FAULTS: dict[str, dict[str, Any]] = {
    "slow network: 4 s an answer": {"latencySeconds": 40},
    "unreachable network": {"isDown": True},
    "network that loses half of its replies": {"lostReplyRate": 0.5},
    "network that loses half of the requests": {"lostRequestRate": 0.5},
}


@pytest.fixture
async def drilled(tmp_path: Path) -> AsyncIterator[DrilledStack]:
    with a_cluster() as cluster:
        async with drilled_stack(tmp_path, cluster) as drilled:
            yield drilled


@pytest.mark.parametrize("fault", list(_FAULTS))
async def test_a_network_in_trouble(drilled: DrilledStack, record: Record, fault: str) -> None:
    switches = _FAULTS[fault]
    async with drilled.under_load() as load:
        await drilled.full_stack.sim.control(channels={"AIRTEL_MONEY": switches})
        await load.until_more(3 * SOME)
        await drilled.full_stack.sim.control(channels={"AIRTEL_MONEY": _calm(switches)})
    figures = await drilled.compare(load)
    record(fault, figures)
    assert figures.failed_first == 0


def _calm(switches: dict[str, Any]) -> dict[str, Any]:
    """The same switches, off."""
    return {name: False if value is True else 0 for name, value in switches.items()}

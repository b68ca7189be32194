"""The figures of a drill: what clients were answered, and whether the database and the networks' book agree with it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from malipo.db import Database
from tests.drills.steady_load import SteadyLoad, longest_gap_seconds
from tests.drills.summary import PROPERTY, Figures
from tests.journeys import database_facts
from tests.journeys.full_stack import until
from tests.simulator.processes import Sim

_ENDS = {"COMPLETED", "FAILED", "CANCELLED"}
Record = Callable[[str, Figures], None]


@pytest.fixture
def record(record_property: Callable[[str, Any], None]) -> Record:
    """Puts a drill's figures into the table at the end of the run, and fails if anything was lost or paid twice."""

    def record(drill: str, figures: Figures) -> None:
        record_property(PROPERTY, [drill, asdict(figures)])
        assert (figures.lost, figures.twice) == (0, 0), figures

    return record


async def compare(database: Database, sim: Sim, load: SteadyLoad, *phases: str, seconds: float = 150) -> Figures:
    """Wait until each payment has ended, then hold the answers against the database and the networks' own book."""
    rows: list[dict[str, Any]] = []

    async def are_over() -> bool:
        async with database.read() as connection:
            found = await connection.fetch("SELECT id, phone, status FROM transactions")
        rows[:] = [dict(row) for row in found if row["phone"] in load.phones]
        return {row["status"] for row in found} <= _ENDS

    await until(are_over, seconds=seconds, pause=1, what="the end of every payment")
    movements = (await sim("GET", "/api/book"))["movements"]
    moved = Counter(each["phone"] for each in movements if each["phone"] in load.phones)
    paid, unpaid = (
        {row["phone"] for row in rows if (row["status"] == "COMPLETED") is is_paid} for is_paid in (True, False)
    )
    received = load.of(*phases)
    figures = Figures(
        answers=len(received),
        payments=sum(each.is_payment and each.is_good for each in received),
        failed_first=sum(each.is_first and not each.is_good for each in received),
        longest_gap_seconds=longest_gap_seconds(received),
        lost=len(set(load.created.values()) - {row["id"] for row in rows}) + len(paid - set(moved)),
        twice=sum(number > 1 for number in moved.values()),
    )
    assert len(rows) == len({row["phone"] for row in rows}), "a key made two payments"
    assert unpaid & set(moved) == set(), "told failed, and paid"
    assert set(moved) <= paid, "paid, and in no payment"
    await database_facts.assert_clean(database)
    return figures

"""The page's table of test numbers has every number of the simulator, and the ends of the grid of all networks. Its times,
events and corrections are compared with what happens in `journeys/networks/test_trying_page.py`."""

import pytest

from malipo.settings import Settings
from malipo_simulator.behaviour import ANY_OTHER, TABLE
from tests.journeys.networks.network_grid import DETAILS, EXPECTED, Cell
from tests.journeys.networks.trying_page import NETWORKS, PAGE, PAGE_ROWS, TYPES, Number

GRID_NAMES = {"M-Pesa": "M-Pesa async"}
# These take minutes, so the grid does not have them.
NOT_IN_GRID = ("111", "112")


def test_the_page_has_every_test_number_once() -> None:
    digits = ["other" if row.digits == ANY_OTHER else row.digits for row in TABLE]
    assert list(PAGE_ROWS) == [
        Number(each, type_, network) for each in digits for type_ in TYPES.values() for network in NETWORKS
    ]
    rows = [line for line in PAGE.splitlines() if line.startswith(("| 1", "| anything else"))]
    assert len(rows) == 2 * len(TABLE)


@pytest.mark.parametrize("number", [each for each in PAGE_ROWS if each.digits not in NOT_IN_GRID], ids=str)
def test_a_number_ends_on_the_page_as_in_the_grid(number: Number) -> None:
    if (number.digits, number.type) == ("100", "COLLECTION"):
        assert PAGE_ROWS[number].end == "as you answer on the phone"
        return
    network = GRID_NAMES.get(number.network, number.network)
    status, _, reason = EXPECTED[Cell(network, number.type, number.digits, has_callbacks=True)].partition(":")
    if status == "open":
        # In the grid no statement comes.
        said = PAGE_ROWS[number]
        assert said.end == ("`COMPLETED`" if said.after == "by the statement" else "stays `PROCESSING`")
        return
    detail = DETAILS.get((number.type, number.digits, number.network)) or DETAILS.get(
        (number.type, number.digits, None)
    )
    end = f"`{status}`" + (f" `{reason}`" if reason else "") + (f" with `{detail}`" if detail else "")
    assert (PAGE_ROWS[number].end, PAGE_ROWS[number].after == "by the statement") == (end, False)


def test_the_times_of_the_page_are_those_of_the_simulator_and_of_the_usual_settings() -> None:
    plans = [plan for row in TABLE for plan in (row.collection, row.disbursement)]
    assert {plan.recovers_seconds for plan in plans} | {plan.reverses_seconds for plan in plans} == {None, 4}
    assert Settings().follow_up_seconds[0] == 600  # 10 min later
    assert Settings().poll_seconds[:3] == (15, 30, 60)  # within 20 s, and within 110 s

"""The effect of a press, cell by cell, by a grid that was written by hand from the specification."""

import itertools

import pytest

from malipo.links.link import LinkStatus
from malipo.links.press_decision import Others, PressDecision, decide

# A link that is paid once. Rows: the link's status; what other numbers are doing; whether the customer was warned.
# Columns: this number has no open attempt, or has one.
ONCE = """
    ACTIVE     none      no      new                    same
    ACTIVE     none      warned  new                    same
    ACTIVE     asked     no      link_busy              same
    ACTIVE     asked     warned  link_busy              same
    ACTIVE     doubtful  no      second_number_doubt    same
    ACTIVE     doubtful  warned  new                    same
    PAID       none      no      link_paid              same
    PAID       none      warned  link_paid              same
    PAID       asked     no      link_paid              same
    PAID       asked     warned  link_paid              same
    PAID       doubtful  no      link_paid              same
    PAID       doubtful  warned  link_paid              same
    EXPIRED    none      no      link_expired           same
    EXPIRED    none      warned  link_expired           same
    EXPIRED    asked     no      link_expired           same
    EXPIRED    asked     warned  link_expired           same
    EXPIRED    doubtful  no      link_expired           same
    EXPIRED    doubtful  warned  link_expired           same
    CANCELLED  none      no      link_cancelled         same
    CANCELLED  none      warned  link_cancelled         same
    CANCELLED  asked     no      link_cancelled         same
    CANCELLED  asked     warned  link_cancelled         same
    CANCELLED  doubtful  no      link_cancelled         same
    CANCELLED  doubtful  warned  link_cancelled         same
"""

# A reusable link. Rows: its status; whether all places are paid or under way. Columns as above.
REUSABLE = """
    ACTIVE     free  new             same
    ACTIVE     full  link_full       same
    PAID       free  link_paid       same
    PAID       full  link_paid       same
    EXPIRED    free  link_expired    same
    EXPIRED    full  link_expired    same
    CANCELLED  free  link_cancelled  same
    CANCELLED  full  link_cancelled  same
"""


def _rows(grid: str) -> list[list[str]]:
    return [line.split() for line in grid.strip().splitlines()]


@pytest.mark.parametrize("row", _rows(ONCE), ids=" ".join)
def test_a_press_on_a_link_that_is_paid_once(row: list[str]) -> None:
    status, others, warned, *cells = row
    for is_own_open, cell in zip((False, True), cells, strict=True):
        decision = decide(
            LinkStatus(status),
            is_reusable=False,
            is_own_open=is_own_open,
            others=Others(others),
            is_full=False,
            may_be_second=warned == "warned",
        )
        assert decision is PressDecision(cell)


@pytest.mark.parametrize("row", _rows(REUSABLE), ids=" ".join)
def test_a_press_on_a_reusable_link_does_not_depend_on_other_numbers(row: list[str]) -> None:
    status, places, *cells = row
    for (is_own_open, cell), others, warned in itertools.product(
        zip((False, True), cells, strict=True), Others, (False, True)
    ):
        decision = decide(
            LinkStatus(status),
            is_reusable=True,
            is_own_open=is_own_open,
            others=others,
            is_full=places == "full",
            may_be_second=warned,
        )
        assert decision is PressDecision(cell)


def test_the_grids_have_every_row() -> None:
    once = {(LinkStatus(row[0]), Others(row[1]), row[2]) for row in _rows(ONCE)}
    assert once == set(itertools.product(LinkStatus, Others, ("no", "warned")))
    assert {(row[0], row[1]) for row in _rows(REUSABLE)} == set(itertools.product(LinkStatus, ("free", "full")))

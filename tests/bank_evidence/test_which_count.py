"""Which statements of our bank accounts count: the table of states, and the same in SQL."""

import pytest

from malipo.bank_evidence.which_count import COUNTS, MAY_COUNT, StatementState


@pytest.mark.parametrize(
    ("state", "counts", "may_count"),
    [("waiting", False, True), ("taken", True, True), ("rejected", False, False), ("withdrawn", False, False)],
)
def test_the_table(state: str, counts: bool, may_count: bool) -> None:
    assert StatementState(state).counts is counts
    assert (f"'{state}'" in COUNTS, f"'{state}'" in MAY_COUNT) == (counts, may_count)


def test_the_table_has_every_state() -> None:
    assert {each.value for each in StatementState} == {"waiting", "taken", "rejected", "withdrawn"}

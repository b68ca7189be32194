"""docs/operating/drills.md names tests that there are, says truly which are slow, and has the table that a run prints."""

import re
from pathlib import Path

import pytest

from tests.drills.summary import HEAD

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/operating/drills.md").read_text()
FIGURES, TESTS = (
    [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")][1:]
    for table in PAGE.split("## Tests")
)


@pytest.mark.parametrize("row", TESTS, ids=lambda row: row[0])
def test_a_drill_has_its_test(row: list[str]) -> None:
    _, tests, slow, _ = row
    files = [ROOT / each for each in re.findall(r"`(tests/[\w/]+\.py)`", tests)]
    assert files
    texts = [each.read_text() for each in files]
    assert (slow != "no") == any("mark.slow" in text for text in texts)


def test_the_table_of_figures_is_the_one_that_a_run_prints() -> None:
    assert f"\n{HEAD}\n" in PAGE
    assert len(FIGURES) > 15


@pytest.mark.parametrize("row", FIGURES, ids=lambda row: row[0])
def test_nothing_was_lost_or_paid_twice_in_a_drill(row: list[str]) -> None:
    assert row[-2:] == ["0", "0"]

"""docs/operating/drills.md names tests that there are, and says truly which are slow."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/operating/drills.md").read_text()
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if line.startswith("| ")][1:]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_drill_has_its_test(row: list[str]) -> None:
    _, tests, slow, _, run = row
    files = [ROOT / each for each in re.findall(r"`(tests/[\w/]+\.py)`", tests)]
    assert files
    texts = [each.read_text() for each in files]
    assert (slow != "no") == any("mark.slow" in text for text in texts)
    assert run

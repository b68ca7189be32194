"""SECURITY.md says what stops whom. Every line of its threat model names tests, and they are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
_COLUMNS = 5


def threats() -> list[list[str]]:
    page = (ROOT / "SECURITY.md").read_text().partition("## Threat model")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in row] for row in rows[1:]]


def test_every_line_of_the_threat_model_is_whole_and_names_its_tests() -> None:
    assert len(threats()) >= 20
    for row in threats():
        assert len(row) == _COLUMNS
        assert all(row), row
        assert _TEST.search(row[-1]), row[0]


def test_the_tests_that_the_page_names_are_there() -> None:
    """In the threat model, and of attacks that were done."""
    named = _TEST.findall((ROOT / "SECURITY.md").read_text())
    missing = [f"{file}::{name}" for file, name in named if f"def {name}(" not in (ROOT / file).read_text()]
    assert missing == []

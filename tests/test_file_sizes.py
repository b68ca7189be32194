"""No file is too long to be read at once, and no folder too full to be found through."""

import subprocess
from collections import Counter
from pathlib import Path, PurePath

import pytest

ROOT = Path(__file__).parent.parent
MOST_LINES = 350
MOST_FILES = 30
# Data, which nobody reads from top to bottom: the contract, catalogues of words, locks, dashboards, pictures, spreadsheets.
DATA = {".yaml", ".yml", ".po", ".pot", ".lock", ".json", ".png", ".svg", ".txt", ".xlsx"}


@pytest.fixture(scope="module")
def files() -> list[PurePath]:
    """What git has, and what it would take."""
    command = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return [PurePath(each) for each in done.stdout.split("\0") if each and (ROOT / each).is_file()]


def test_no_file_is_longer_than_can_be_read_at_once(files: list[PurePath]) -> None:
    read = [each for each in files if each.suffix not in DATA and PurePath("docs/decisions") not in each.parents]
    long = {str(each): lines for each in read if (lines := _lines(each)) > MOST_LINES}
    assert long == {}, f"more than {MOST_LINES} lines: part it by subject"
    assert "malipo/payments/status_writer.py" in map(str, read), "the files were found"


def test_no_folder_has_more_files_than_one_looks_through(files: list[PurePath]) -> None:
    found = Counter(str(each.parent) for each in files)
    del found["docs/decisions"]  # They have numbers.
    assert {folder: count for folder, count in found.items() if count > MOST_FILES} == {}
    assert found["malipo/payments"] > 5, "the files were found"


def _lines(path: PurePath) -> int:
    return len((ROOT / path).read_text().splitlines())

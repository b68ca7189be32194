"""A month of payments in one command, and what others find in its books. See docs/books.md."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BEANCOUNT = ROOT / ".venv" / "opponents" / "requirements-books"


def _live(folder: Path, payments: int, *, seconds: int) -> dict[str, Any]:
    """As `./run demo --month` does it."""
    command = [sys.executable, "-m", "simulation.month", "--payments", str(payments), "--output", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return report


def _require(report: dict[str, Any]) -> None:
    assert report["findings"] == []
    assert report["closedDays"] == 31
    assert report["safeguarding"]["unexplained"] == 0
    assert report["safeguarding"]["difference"] == report["safeguarding"]["own"] + report["safeguarding"]["explained"]
    assert report["invoices"]["count"] == 5
    assert report["lostByTheRestore"] > 0
    assert report["payments"]["adopted"] > 0
    assert report["payments"]["late moves"] == report["writtenAfterTheClose"] == 6
    assert report["creditNotesOfTheNextMonth"] > 0
    assert report["payments"]["settlements COMPLETED"] > 0
    assert report["payments"]["settlements RETURNED"] > 0


def test_a_small_month_adds_up_to_the_shilling(tmp_path: Path) -> None:
    _require(_live(tmp_path, 310, seconds=600))


@pytest.mark.slow
def test_a_month_of_twenty_thousand_payments_adds_up_and_two_other_programs_agree(tmp_path: Path) -> None:
    if shutil.which("hledger") is None or not BEANCOUNT.exists():
        pytest.skip("needs hledger and beancount: scripts/test-needs")
    report = _live(tmp_path, 20_000, seconds=3600)
    _require(report)
    assert report["booksReadBy"] == ["check_archive.py", "beancount", "hledger"]
    assert set(report["fates"]) == {
        "paid", "declined", "cancelled", "reply-lost", "reply-lost-declined", "never-heard", "told-twice",
        "told-failed-but-paid", "told-paid-but-not", "taken-back", "another-amount", "shown-twice",
    }  # fmt: skip
    assert report["payments"]["corrections"] > 0

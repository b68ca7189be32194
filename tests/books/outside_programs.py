"""beancount and hledger, as accountants run them. `scripts/test-needs` installs both; nothing of ours imports them."""

import csv
import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_BEANCOUNT = Path(__file__).parents[2] / ".venv" / "opponents" / "requirements-books"


def bean_check(file: Path) -> None:
    """Raises if beancount finds anything."""
    _run_beancount("beancount.scripts.check", "main", str(file))


def bean_query(file: Path) -> dict[str, int]:
    """The balance of each account."""
    query = "SELECT account, sum(number) AS total GROUP BY account"
    out = _run_beancount("beanquery.shell", "main", "-f", "csv", str(file), query)
    rows = csv.DictReader(io.StringIO(out))
    found = {row["account"].strip(): int(float(row["total"].strip() or 0)) for row in rows}
    return {account: amount for account, amount in found.items() if amount}


def _run_beancount(module: str, function: str, *arguments: str) -> str:
    if not _BEANCOUNT.exists():
        pytest.skip("needs beancount: scripts/test-needs")
    code = f"import sys; sys.path.insert(0, sys.argv.pop(1)); from {module} import {function}; {function}()"
    return _run(sys.executable, "-c", code, str(_BEANCOUNT), *arguments)


def hledger(file: Path, *arguments: str) -> str:
    if (program := shutil.which("hledger")) is None:
        pytest.skip("needs hledger: apt-get install hledger")
    return _run(program, "-f", str(file), *arguments)


def hledger_balances(file: Path) -> dict[str, int]:
    out = hledger(file, "balance", "--flat", "--no-total", "-O", "csv", "-c", "TZS 1000.")
    return {row["account"]: int(row["balance"].removeprefix("TZS")) for row in csv.DictReader(io.StringIO(out))}


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    if done.returncode != 0:
        print(done.stdout, done.stderr)
    done.check_returncode()
    return done.stdout

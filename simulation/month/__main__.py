"""./run demo --month: a month of payments, closed, settled, archived, and checked by programs of others."""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from malipo import log
from malipo.db.embedded import server
from malipo.invoices.invoice import InvoiceKind
from simulation.month.checks import check_month, check_next_month
from simulation.month.run import MonthRun


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="run demo --month", description=__doc__.partition(": ")[2])
    parser.add_argument("--payments", type=int, default=20_000, metavar="N", help="in the month (20,000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--output", type=Path, default=Path("month"), metavar="FOLDER", help="for the archive and the report"
    )
    given = parser.parse_args(arguments)
    log.configure(level="error", stream=sys.stderr)
    given.output.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="malipo-month-") as folder, server(Path(folder, "postgres")) as url:
        month = MonthRun(url, Path(folder), payments=given.payments, seed=given.seed, say=_say)
        asyncio.run(month.go())
        report = asyncio.run(check_month(month, given.output))
        asyncio.run(month.go_on())
        report["findings"] += asyncio.run(check_next_month(month, given.output))
        report["creditNotesOfTheNextMonth"] = sum(each.kind is InvoiceKind.CREDIT_NOTE for each in month.next_invoices)
    report["seconds"] = round(time.monotonic() - began, 1)
    (given.output / "report.json").write_bytes(msgspec.json.format(msgspec.json.encode(report)) + b"\n")
    print(msgspec.json.format(msgspec.json.encode(report)).decode())
    return 0 if not report["findings"] else 1


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    if shutil.which("hledger") is None:
        _say("hledger is not installed (apt-get install hledger), so it does not check the journal.")
    sys.exit(main(sys.argv[1:]))

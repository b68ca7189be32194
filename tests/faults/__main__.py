"""`scripts/faults`: puts each fault into a copy of the sources, and runs the tests that should find it.

    scripts/faults                          all that the file of results does not have yet
    scripts/faults --only "sign"            those whose name or definition has this text
    scripts/faults --all-finders            counts every test that fails, instead of stopping at the first
    scripts/faults --in-process             first with the unit tests alone, which is quick
    scripts/faults --table                  prints the results as a table, and runs nothing

The exit code is 1 if no test finds a fault, or if a test fails without any.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.faults import results
from tests.faults.fault import Fault
from tests.faults.in_process import try_in_process
from tests.faults.lists import FAULTS
from tests.faults.results import Result, Results
from tests.faults.runner import AT_ONCE, Runner

ROOT = Path(__file__).parents[2]
_RESULTS = ROOT / ".venv" / "faults.jsonl"


def main() -> int:
    given = _arguments()
    kept = Results(given.results)
    chosen = [each for each in FAULTS if given.only in f"{each.name} {each.within} {each.tests}"]
    if given.table:
        print(results.table(chosen, kept))
        return 0
    mode = "all" if given.all_finders else "first"
    waiting = [each for each in chosen if given.again or kept.find(each.name, mode) is None]
    if given.in_process:
        _try_in_process(waiting, kept)
        return _report(chosen, kept, mode, [])
    with tempfile.TemporaryDirectory(prefix="malipo-faults-", dir=given.folder) as folder:
        Path(folder).chmod(0o755)  # Where tests run as root, PostgreSQL runs as another user.
        runner = Runner(ROOT, Path(folder), at_once=given.at_once)
        with runner:
            for result in runner.run(waiting, stops_at_first=mode == "first"):
                kept.add(result)
                print(result.line, flush=True)
            unsure = runner.failing_without(_finders(chosen, kept, mode)) if given.check else []
    return _report(chosen, kept, mode, unsure)


def _try_in_process(faults: list[Fault], kept: Results) -> None:
    """Only what is found is kept: tests that this leaves out may find the others."""
    began = time.monotonic()

    def say(fault: Fault, outcome: str, finder: str) -> None:
        nonlocal began
        seconds, began = round(time.monotonic() - began, 1), time.monotonic()
        found = [finder] if finder else []
        result = Result(fault=fault.name, mode="first", outcome=outcome, finders=found, seconds=seconds)
        print(f"\n{result.line}", flush=True)  # Pytest writes dots.
        if result.is_found:
            kept.add(result)

    try_in_process(faults, ROOT, say=say)


def _finders(chosen: list[Fault], kept: Results, mode: str) -> list[str]:
    found = [kept.find(each.name, mode) for each in chosen]
    return sorted({each.finders[0] for each in found if each is not None and each.finders})


def _report(chosen: list[Fault], kept: Results, mode: str, unsure: list[str]) -> int:
    known = [result for each in chosen if (result := kept.find(each.name, mode)) is not None]
    lost = [each for each in known if not each.is_found]
    print(f"\n{len(known)} of {len(chosen)} faults were tried, {len(known) - len(lost)} found.")
    for each in lost:
        print(f"not found: {each.fault} ({each.outcome})")
    for test in unsure:
        print(f"fails without any fault: {test}")
    return int(bool(lost or unsure))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/faults", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--all-finders", action="store_true")
    parser.add_argument("--in-process", action="store_true", help="without a copy, a database and other processes")
    parser.add_argument("--again", action="store_true", help="also those that the file has")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--no-check", dest="check", action="store_false", help="do not run the finders without a fault")
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--results", type=Path, default=_RESULTS)
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm") if Path("/dev/shm").is_dir() else None)  # noqa: S108
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

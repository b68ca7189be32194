"""The result of each fault, in a file of JSON lines, so that a run can be continued."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.faults.fault import Fault


class Result(msgspec.Struct, frozen=True, kw_only=True):
    fault: str
    mode: str  # "first": until a test fails; "all": every test that fails
    outcome: str  # "found", "not found", "broken": nothing could be run
    finders: Sequence[str] = ()  # as pytest names them
    seconds: float = 0.0

    @property
    def is_found(self) -> bool:
        return self.outcome == "found"

    @property
    def line(self) -> str:
        by = f" by {self.finders[0]}" if self.finders else ""
        more = f" and {len(self.finders) - 1} more" if len(self.finders) > 1 else ""
        return f"{self.outcome}: {self.fault}{by}{more} ({self.seconds:.0f} s)"


class Results:
    """The last one counts of each fault and mode."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[tuple[str, str], Result] = {}
        if path.exists():
            for line in path.read_bytes().splitlines():
                result = msgspec.json.decode(line, type=Result)
                self._known[result.fault, result.mode] = result

    def find(self, fault: str, mode: str) -> Result | None:
        return self._known.get((fault, mode))

    def add(self, result: Result) -> None:
        self._known[result.fault, result.mode] = result
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(result) + b"\n")


def table(faults: Sequence[Fault], kept: Results) -> str:
    """In Markdown."""
    lines = ["| fault | in | found by | tests that find it |", "|---|---|---|---|"]
    for fault in faults:
        first, every = kept.find(fault.name, "first"), kept.find(fault.name, "all")
        best = every or first
        by = "not tried" if best is None else f"`{_short(best.finders[0])}`" if best.finders else best.outcome
        count = "" if every is None else f"{len(every.finders)}"
        lines.append(f"| {fault.name} | `{fault.within}` | {by} | {count} |")
    return "\n".join(lines)


def _short(test: str) -> str:
    return test.removeprefix("tests/").partition("[")[0].replace("|", "\\|")

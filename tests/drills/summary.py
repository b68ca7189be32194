"""The table of drills at the end of a run: what docs/operating/drills.md has of an earlier one."""

from dataclasses import dataclass
from typing import Any

PROPERTY = "drill"
HEAD = (
    "| drill | answers | payments | failed first answers | longest gap | lost | twice |\n|---|--:|--:|--:|--:|--:|--:|"
)


@dataclass(frozen=True)
class Figures:
    """`lost`: acknowledged, and not in the database, or told paid and not paid. `twice`: moved more than once."""

    answers: int
    payments: int
    failed_first: int  # of requests, not counting repeats with the same key
    longest_gap_seconds: float | None  # without a good answer to a payment
    lost: int
    twice: int

    def row(self, drill: str) -> str:
        gap = "" if self.longest_gap_seconds is None else f"{self.longest_gap_seconds:.1f} s"
        cells = [drill, self.answers, self.payments, self.failed_first, gap, self.lost, self.twice]
        return f"| {' | '.join(f'{each:,}' if isinstance(each, int) else str(each) for each in cells)} |"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [each for name in ("passed", "failed") for each in terminalreporter.stats.get(name, [])]
    found = [value for each in reports for name, value in each.user_properties if name == PROPERTY]
    if found:
        rows = sorted(Figures(**figures).row(drill) for drill, figures in found)
        terminalreporter.write_line("\n".join([HEAD, *rows]))

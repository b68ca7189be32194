"""`bench where` on the command line: what it is about, what it found, and a picture of it."""

from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from benchmarks import machine, profile
from benchmarks.profile import QUICK, Plan, Report, Say
from benchmarks.reports.result import Result, changes

HELP = "where the time of one request goes, by a profile of the process"
ABOUT = """
`malipo api` under the full load of `create`, looked at from outside 250 times a second by py-spy, which must be allowed
to (as root, or by the system's settings). Each look is counted for the innermost part of malipo, or of a library, that
the process was in, and laid over the CPU of one payment, which is measured without the profiler. --svg FILE draws it.
"""

_WIDTH, _ROW, _NAME, _BAR = 760, 26, 400, 250


def run(options: Any, say: Say) -> Result:
    report = profile.measure(replace(QUICK if options.quick else Plan(), **changes(options, "seconds")), say)
    if options.svg:
        Path(options.svg).write_text(picture(report.shares()))
    return Result(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    return {
        "name": "where",
        "machine": machine.facts(postgres=report.postgres, busy_percent=report.busy_percent),
        "results": [{"system": "malipo", "per_second": round(report.per_second, 1), "cpu_us": round(report.cpu_us, 1)}],
        "us": {part: round(us, 1) for part, us in report.shares().items()},
        "ratios": {},
    }


def _text(report: Report) -> str:
    facts = machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)
    shares = report.shares()
    most = max(shares.values())
    cost = f"{report.per_second:,.0f} payments a second, {report.cpu_us:,.0f} us of the process each"
    lines = [f"{machine.sentence(facts)}; {cost}", ""]
    lines += [f"{part:<56}{us:>7.0f} us  {'█' * round(24 * us / most)}" for part, us in shares.items()]
    return "\n".join([*lines, *machine.warning(facts)])


def picture(shares: dict[str, float]) -> str:
    """Bars, readable on white and on black."""
    most = max(shares.values())
    height = _ROW * len(shares) + 10
    reported = escape("; ".join(f"{part}: {us:.0f} µs" for part, us in shares.items()))
    rows = []
    for place, (part, us) in enumerate(shares.items()):
        top = 5 + place * _ROW
        width = max(_BAR * us / most, 1)
        colour = "#7d8590" if part.startswith("PostgreSQL") else "#2f81f7"
        rows.append(
            f'<text x="{_NAME - 10}" y="{top + 17}" text-anchor="end">{escape(part)}</text>'
            f'<rect x="{_NAME}" y="{top + 4}" width="{width:.1f}" height="{_ROW - 8}" rx="2" fill="{colour}"/>'
            f'<text x="{_NAME + width + 8:.1f}" y="{top + 17}">{us:.0f} µs</text>'
        )
    style = "text{font:14px system-ui,sans-serif;fill:#59636e}@media(prefers-color-scheme:dark){text{fill:#9198a1}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{reported}">'
        f"<style>{style}</style>{''.join(rows)}</svg>\n"
    )

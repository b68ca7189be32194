"""`bench pages` on the command line: what it is about, and what it found, in words and in JSON."""

from dataclasses import replace
from statistics import median
from typing import Any

from benchmarks import machine, pages
from benchmarks.pages import LARGE, QUICK, SMALL, Plan, Report, Say
from benchmarks.reports.result import Result, changes

HELP = "pages of the dashboard for a merchant with a long history, beside one with a short one"
ABOUT = """
The time to the first byte of every main page of the dashboard, for a merchant with 1,000,000 payments (100,000 with
--quick) and for one with 1,000, by turns, in one `malipo api` process. `malipo ledger check` is clean on both.
"""


def run(options: Any, say: Say) -> Result:
    plan = replace(QUICK if options.quick else Plan(), **changes(options, "rounds"))
    report = pages.measure(plan, say)
    return Result(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    return {
        "name": "pages",
        "machine": machine.facts(postgres=report.postgres, busy_percent=report.busy_percent),
        "results": [
            {"page": page, "short_ms": round(median(times[SMALL]), 2), "long_ms": round(median(times[LARGE]), 2)}
            for page, times in report.times.items()
        ],
        "ratios": {page: round(report.ratio(page), 3) for page in report.times} | {"worst": round(report.worst(), 3)},
    }


def _text(report: Report) -> str:
    facts = machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)
    short, long = f"{report.plan.short:,}", f"{report.plan.long:,}"
    lines = [
        f"{machine.sentence(facts)}; the middle of {report.plan.rounds} visits, ms to the first byte",
        "",
        f"{'pages':<26}{short:>12}{long:>12}{'ratio':>8}",
    ]
    for page, times in report.times.items():
        lines.append(f"{page:<26}{median(times[SMALL]):>12.1f}{median(times[LARGE]):>12.1f}{report.ratio(page):>8.2f}")
    lines += ["", "malipo's ledger check found nothing in either history.", *machine.warning(facts)]
    return "\n".join(lines)

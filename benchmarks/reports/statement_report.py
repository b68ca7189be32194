"""`bench statement` on the command line: what it is about, and what it found, in words and in JSON."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import machine, statement
from benchmarks.reports.result import Result, changes
from benchmarks.statement import QUICK, Plan, Report, Say

HELP = "a wallet's statement and its export, for merchants of different sizes"
ABOUT = """
Pages of /v1/wallet/entries, by turns, for merchants of 100 thousand, 1 million and 10 million payments among 300 small
ones (with --quick 1, 10 and 100 thousand), and the export as CSV, read for half a minute: how many lines come in a
second, and what the process takes before and at most. With --data FOLDER the payments stay there for the next run, and
`list` can use them too.
"""


def run(options: Any, say: Say) -> Result:
    plan = replace(QUICK if options.quick else Plan(), **changes(options, "rounds"))
    if options.data:
        plan = replace(plan, data=Path(options.data))
    report = statement.measure(plan, say)
    return Result(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    return {
        "name": "statement",
        "machine": machine.facts(postgres=report.postgres, busy_percent=report.busy_percent),
        "results": [
            {
                "system": "malipo",
                "page": page,
                "payments": size,
                "per_second": round(1000 / report.ms(page, size), 1),
                "p50_ms": round(report.ms(page, size), 2),
                "p99_ms": round(max(report.times[page][size]), 2),
            }
            for page in report.times
            for size in report.plan.sizes
        ],
        "exports": [
            {
                "payments": size,
                "lines": export.lines,
                "lines_per_second": round(export.lines / export.seconds),
                "is_whole": export.is_whole,
                "memory_before_mb": round(export.before_mb, 1),
                "memory_most_mb": round(export.most_mb, 1),
            }
            for size, export in report.exports.items()
        ],
        "ratios": {page: round(report.ratio(page), 2) for page in report.times}
        | {"worst": round(max(map(report.ratio, report.times)), 2)},
    }


def _text(report: Report) -> str:
    facts = machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)
    sizes = report.plan.sizes
    lines = [
        f"{machine.sentence(facts)}; the middle of {report.plan.rounds} answers, ms",
        "",
        f"{'statement':<28}" + "".join(f"{size:>12,}" for size in sizes) + f"{'ratio':>8}",
    ]
    for page in report.times:
        times = "".join(f"{report.ms(page, size):>12.1f}" for size in sizes)
        lines.append(f"{page:<28}{times}{report.ratio(page):>8.2f}")
    lines += ["", f"{'export of':<14}{'lines':>12}{'a second':>12}{'MB before':>12}{'MB at most':>12}"]
    for size, export in report.exports.items():
        rate = export.lines / export.seconds
        part = "" if export.is_whole else "  (not to its end)"
        lines.append(
            f"{size:<14,}{export.lines:>12,}{rate:>12,.0f}{export.before_mb:>12.0f}{export.most_mb:>12.0f}{part}"
        )
    return "\n".join([*lines, *machine.warning(facts)])

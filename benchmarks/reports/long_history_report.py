"""`bench long-history` on the command line: what it is about, and what it found, in words and in JSON."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.long_history import trials
from benchmarks.long_history.databases import Say
from benchmarks.long_history.trials import QUICK, Plan, Report, Run
from benchmarks.reports.result import Result, changes

HELP = "create and journey on a database with 3 million payments, beside a new one"
ABOUT = """
Writes 3 million payments of 100 merchants (with --quick 100,000), then measures `create` and `journey` there and on a
new database of the same PostgreSQL, by turns. The aim is 1.15 times. With --data FOLDER the payments stay there for
the next run. It takes a quarter of an hour, and about 15 GB.
"""

_FIGURES: dict[str, Callable[[Run], float]] = {
    "per second": lambda run: run.per_second,
    "CPU µs, all": lambda run: sum(run.cpu_us.values()),
    "CPU µs, PostgreSQL": lambda run: run.cpu_us["postgresql"],
    "CPU µs, api": lambda run: run.cpu_us["api"],
    "CPU µs, worker": lambda run: run.cpu_us.get("worker", 0),
    "WAL bytes": lambda run: run.wal_bytes,
}


def run(options: Any, say: Say) -> Result:
    plan = replace(QUICK if options.quick else Plan(), **changes(options, "rounds", "seconds", "payments"))
    if options.data:
        plan = replace(plan, data=Path(options.data))
    report = trials.measure(plan, say)
    return Result(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    return {
        "name": "long-history",
        "machine": _machine(report),
        "payments": report.plan.payments,
        "results": [
            {
                "system": f"{benchmark}, {where}",
                "rounds": [round(run.per_second, 1) for run in runs],
                **{name: round(report.middle(benchmark, where, figure), 1) for name, figure in _FIGURES.items()},
            }
            for (benchmark, where), runs in report.runs.items()
        ],
    }


def _machine(report: Report) -> dict[str, Any]:
    return machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)


def _text(report: Report) -> str:
    lines = [
        f"{machine.sentence(_machine(report))}; {report.plan.payments:,} payments; "
        f"the middle of {report.plan.rounds} rounds of {report.plan.seconds} s",
    ]
    for benchmark in ("create", "journey"):
        lines += ["", f"{benchmark:<22}{'new':>12}{'full':>12}{'full / new':>12}"]
        for name, figure in _FIGURES.items():
            new, full = (report.middle(benchmark, where, figure) for where in ("new", "full"))
            if new:
                lines.append(f"{name:<22}{new:>12,.0f}{full:>12,.0f}{report.ratio(benchmark, figure):>12.2f}")
    return "\n".join([*lines, *machine.warning(_machine(report))])

"""`bench reconcile` on the command line: what it is about, and what it found, in words and in JSON."""

from dataclasses import asdict, replace
from typing import Any

from benchmarks import machine
from benchmarks.reconcile import trials
from benchmarks.reconcile.trials import QUICK, Plan, Report, Say
from benchmarks.reports.result import Result, changes

HELP = "a network's statement, imported and matched with as many payments"
ABOUT = """
A day of payments (--size; 100,000, with --quick 10,000) and the statement of it, in M-Pesa's layout: how long the
import takes, and the matching, in seconds and in CPU seconds of malipo and of PostgreSQL; and the memory of both at
most, beside that of a tenth of the size. With --size 1000000 it takes some minutes, most of them to write the payments.
"""


def run(options: Any, say: Say) -> Result:
    plan = replace(QUICK if options.quick else Plan(), **changes(options, "size"))
    report = trials.measure(plan, say)
    return Result(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    return {
        "name": "reconcile",
        "machine": machine.facts(postgres=report.postgres, busy_percent=report.busy_percent),
        "results": [asdict(each) for each in report.trials.values()],
    }


def _text(report: Report) -> str:
    facts = machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)
    columns = ("seconds", "a second", "CPU s", "PostgreSQL's", "MB at most", "PostgreSQL's")
    lines = [machine.sentence(facts), "", f"{'lines':<12}{'step':<10}" + "".join(f"{each:>14}" for each in columns)]
    for trial in report.trials.values():
        for name, step in (("import", trial.imported), ("match", trial.matched)):
            lines.append(
                f"{trial.size:<12,}{name:<10}{step.seconds:>14.1f}{trial.per_second(step):>14,.0f}"
                f"{step.cpu_seconds:>14.1f}{step.postgres_cpu_seconds:>14.1f}"
                f"{trial.most_mb:>14.0f}{trial.postgres_most_mb:>14.0f}"
            )
    return "\n".join([*lines, *machine.warning(facts)])

"""`bench idle` on the command line."""

from dataclasses import replace
from typing import Any

from benchmarks import idle, machine
from benchmarks.idle import QUICK, Plan, Report, Say
from benchmarks.reports.result import Result, changes

HELP = "what an API and a worker take without work"
ABOUT = """
How much of a core (user and system) one API, one worker and PostgreSQL take for a minute in which nothing is asked for
and nothing is due, with all networks connected; and how many transactions a second they commit.
"""


def run(options: Any, say: Say) -> Result:
    report = idle.measure(replace(QUICK if options.quick else Plan(), **changes(options, "seconds")), say)
    return Result(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    return {
        "name": "idle",
        "machine": machine.facts(postgres=report.postgres, busy_percent=report.busy_percent),
        "results": [{"part": part, "percent": round(percent, 2)} for part, percent in report.percent.items()],
        "ratios": {},
        "commits_per_second": round(report.commits_per_second, 1),
    }


def _text(report: Report) -> str:
    facts = machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)
    lines = [f"{machine.sentence(facts)}; {report.plan.seconds} s without work", "", "of a core"]
    lines += [f"{part:<14}{percent:>8.2f} %" for part, percent in report.percent.items()]
    lines += ["", f"{report.commits_per_second:.1f} transactions a second"]
    return "\n".join([*lines, *machine.warning(facts)])

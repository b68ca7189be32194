"""`bench cost` on the command line."""

from dataclasses import replace
from typing import Any

from benchmarks import cost, machine
from benchmarks.cost import QUICK, Plan, Report, Say
from benchmarks.reports.result import Result, changes

HELP = "processor time of a payment, by part"
ABOUT = """
How many microseconds of processor time (user and system) one payment takes of the API, the worker and PostgreSQL: to be
created, at full load; and whole, from the request to the webhook, at 150 a second. `compare` runs it for two versions.
"""


def run(options: Any, say: Say) -> Result:
    report = cost.measure(replace(QUICK if options.quick else Plan(), **changes(options, "seconds")), say)
    return Result(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    return {
        "name": "cost",
        "machine": machine.facts(postgres=report.postgres, busy_percent=report.busy_percent),
        "results": [
            {"load": name, "us": {part: round(us, 1) for part, us in parts.items()}}
            for name, parts in report.us.items()
        ],
        "ratios": {},
    }


def _text(report: Report) -> str:
    facts = machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)
    lines = [machine.sentence(facts), "", f"{'µs a payment':<14}{'API':>9}{'worker':>9}{'PostgreSQL':>12}{'sum':>9}"]
    for name, parts in report.us.items():
        worker = f"{parts['worker']:,.0f}" if "worker" in parts else ""
        lines.append(
            f"{name:<14}{parts['api']:>9,.0f}{worker:>9}{parts['postgresql']:>12,.0f}{sum(parts.values()):>9,.0f}"
        )
    return "\n".join([*lines, *machine.warning(facts)])

"""`bench batch` on the command line: what it is about, and what it found, in words and in JSON."""

from typing import Any

from benchmarks import batch, machine
from benchmarks.batch import QUICK, Plan, Report, Say
from benchmarks.reports.result import Result

HELP = "a batch of 5,000 payouts beside as many single requests"
ABOUT = """
5,000 payouts (with --quick 500) as one batch, and as single requests over 64 connections, each on a new database with
an API, a worker and the simulated Airtel Money: seconds from the approval, or from the first request, until the last
payout was taken up for its call to the network.
"""


def run(options: Any, say: Say) -> Result:
    report = batch.measure(QUICK if options.quick else Plan(), say)
    return Result(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    return {
        "name": "batch",
        "machine": machine.facts(postgres=report.postgres, busy_percent=report.busy_percent),
        "results": [
            {
                "system": system,
                "payouts": report.plan.lines,
                "made_seconds": round(trial.made_seconds, 2),
                "accepted_seconds": round(trial.accepted_seconds, 2),
                "sent_seconds": round(trial.sent_seconds, 2),
                "per_second": round(report.plan.lines / trial.sent_seconds, 1),
            }
            for system, trial in (("batch", report.batch), ("single", report.single))
        ],
        "ratios": {"single_vs_batch": round(report.ratio, 2)},
    }


def _text(report: Report) -> str:
    facts = machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)
    lines = [
        f"{machine.sentence(facts)}; {report.plan.lines:,} payouts, seconds",
        "",
        f"{'':<10}{'made':>8}{'accepted':>10}{'last sent':>11}",
    ]
    for name, trial in (("batch", report.batch), ("single", report.single)):
        lines.append(f"{name:<10}{trial.made_seconds:>8.2f}{trial.accepted_seconds:>10.2f}{trial.sent_seconds:>11.2f}")
    lines.append(f"single requests take {report.ratio:.2f} times as long")
    return "\n".join([*lines, *machine.warning(facts)])

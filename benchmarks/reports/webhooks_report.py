"""`bench webhooks` on the command line: what it is about, and what it found, in words and in JSON."""

from dataclasses import replace
from typing import Any

from benchmarks import machine
from benchmarks.reports.result import Result, changes, middle
from benchmarks.webhooks import trials
from benchmarks.webhooks.trials import MIXED, QUICK, Plan, Report, Say

HELP = "deliveries a second to 1,000 endpoints, and what those who hang or fail cost the others"
ABOUT = """
How many webhooks a second one `malipo worker` process delivers to 1,000 endpoints, and how long after its event each
arrives when events come at half of that rate; first with all endpoints healthy, then with 5 % that never answer and
5 % that answer 500. Rates and delays are the healthy endpoints'; the CPU is that of every attempt. PostgreSQL, the
worker and the receiver (nginx) share the machine. Every delivery must be in the log of nginx, and in the database.
"""

_LABELS = {MIXED: "5 % hang, 5 % fail"}


def run(options: Any, say: Say) -> Result:
    plan = QUICK if options.quick else Plan()
    asked = changes(options, "rounds", "seconds", "events", "merchants", "servers")
    report = trials.measure(replace(plan, **asked), say)
    return Result(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    return {
        "name": "webhooks",
        "machine": _machine(report),
        "results": [_result(report, system) for system in report.runs],
        "ratios": {name: round(ratio, 3) for name, ratio in report.ratios().items()},
    }


def _result(report: Report, system: str) -> dict[str, Any]:
    """The middle of the rounds for each figure, and the rate and the p99 of every round."""
    runs = report.runs[system]
    return {
        "system": system,
        "per_second": round(middle(runs, lambda run: run.pile.per_second), 1),
        "healthy_endpoints": runs[0].healthy,
        "rounds": [round(run.pile.per_second, 1) for run in runs],
        "half_load": {
            "per_second": middle(runs, lambda run: run.stream.per_second),
            "p50_ms": middle(runs, lambda run: run.stream.p50_ms),
            "p99_ms": middle(runs, lambda run: run.stream.p99_ms),
            "p99_ms_rounds": [round(run.stream.p99_ms, 1) for run in runs],
        },
        "memory_mb": middle(runs, lambda run: run.memory_mb),
        "cpu_us": middle(runs, lambda run: run.pile.worker_us),
        "postgresql_cpu_us": middle(runs, lambda run: run.pile.postgres_us),
        "receiver_cpu_us": middle(runs, lambda run: run.pile.receiver_us),
        "duplicates": sum(run.duplicates for run in runs),
    }


def _machine(report: Report) -> dict[str, Any]:
    return machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)


def _text(report: Report) -> str:
    plan, ratios = report.plan, report.ratios()
    results = [_result(report, system) for system in report.runs]
    lines = [
        f"{machine.sentence(_machine(report))}; the middle of {plan.rounds} rounds",
        "",
        f"{'webhooks':<20}{'per second':>11}{'half: per second':>18}{'p50 ms':>9}{'p99 ms':>9}"
        f"{'CPU µs each':>13}{'PostgreSQL':>12}{'receiver':>10}{'RSS MB':>8}",
        *(_line(result) for result in results),
        "",
        f"of its rate, a healthy endpoint keeps in bad company   {ratios['healthy_rate']:.2f}",
        f"its p99 delay there / where all are healthy            {ratios['healthy_p99']:.2f}",
        "",
        _end(sum(result["duplicates"] for result in results)),
        *machine.warning(_machine(report)),
    ]
    return "\n".join(lines)


def _line(result: dict[str, Any]) -> str:
    half = result["half_load"]
    return (
        f"{_LABELS.get(result['system'], result['system']):<20}{result['per_second']:>11,.0f}"
        f"{half['per_second']:>18,.0f}{half['p50_ms']:>9.1f}{half['p99_ms']:>9.1f}{result['cpu_us']:>13,.0f}"
        f"{result['postgresql_cpu_us']:>12,.0f}{result['receiver_cpu_us']:>10,.0f}{result['memory_mb']:>8.0f}"
    )


def _end(duplicates: int) -> str:
    twice = {0: "none came twice", 1: "one came twice"}.get(duplicates, f"{duplicates} came twice")
    return f"Every delivery came to its healthy endpoint, and {twice}."

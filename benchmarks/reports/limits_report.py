"""`bench limits` on the command line: what it is about, and what it found, in words and in JSON."""

from dataclasses import replace
from typing import Any

from benchmarks import machine, rate_limit_cost
from benchmarks.rate_limit_cost import OFF, ON, QUICK, Plan, Report
from benchmarks.reports.result import Result, changes, middle
from benchmarks.rounds import Say

HELP = "what the rate limits cost a request"
ABOUT = """
What it costs to count every request of every key exactly. Two `malipo api` processes get the same collections, by
turns: one without limits, and one with limits so high that nobody reaches them. Before each turn the windows of all 100
keys are filled as a minute of steady use would leave them. The ratios are with limits by without: of the CPU that the
process spends on a request, of the rate, and of PostgreSQL's CPU. Every answer must have been counted, or none.
"""


def run(options: Any, say: Say) -> Result:
    plan = replace(QUICK if options.quick else Plan(), **changes(options, "rounds", "seconds", "connections"))
    report = rate_limit_cost.measure(plan, say)
    return Result(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    return {
        "name": "limits",
        "machine": _machine(report),
        "results": [_result(report, system) for system in (OFF, ON)],
        "ratios": {name: round(ratio, 3) for name, ratio in report.ratios().items()},
    }


def _result(report: Report, system: str) -> dict[str, Any]:
    runs = report.runs[system]
    return {
        "system": system,
        "per_second": middle(runs, lambda run: run.measured.per_second),
        "p50_ms": middle(runs, lambda run: run.measured.p50_ms),
        "p99_ms": middle(runs, lambda run: run.measured.p99_ms),
        "cpu_us": middle(runs, lambda run: run.cpu_us),
        "postgres_cpu_us": middle(runs, lambda run: run.postgres_cpu_us),
    }


def _machine(report: Report) -> dict[str, Any]:
    return machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)


def _text(report: Report) -> str:
    plan, ratios = report.plan, report.ratios()
    lines = [
        f"{machine.sentence(_machine(report))}; the middle of {plan.rounds} rounds of {plan.seconds} s each",
        "",
        f"{'limits':<14}{'per second':>11}{'p50 ms':>9}{'p99 ms':>9}{'CPU µs each':>13}{'of PostgreSQL':>15}",
        *(_line(_result(report, system)) for system in (OFF, ON)),
        "",
        f"the process's CPU for a request   {_percent(ratios['cpu'])}",
        f"the rate                          {_percent(ratios['per_second'])}",
        f"PostgreSQL's CPU for a request    {_percent(ratios['postgres_cpu'])}",
        "",
        "Every answer was counted by the limits, none without them, and malipo's ledger check found nothing.",
        *machine.warning(_machine(report)),
    ]
    return "\n".join(lines)


def _line(result: dict[str, Any]) -> str:
    return (
        f"{result['system']:<14}{result['per_second']:>11,.0f}{result['p50_ms']:>9.1f}{result['p99_ms']:>9.1f}"
        f"{result['cpu_us']:>13,.0f}{result['postgres_cpu_us']:>15,.0f}"
    )


def _percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.0f} %"

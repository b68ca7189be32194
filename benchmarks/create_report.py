"""`bench create` on the command line: what it is about, and what it found, in words and in JSON."""

from dataclasses import replace
from typing import Any

from benchmarks import create, machine
from benchmarks.create import QUICK, Plan, Report, Say
from benchmarks.told import Told, changes, middle

HELP = "collections a second, beside PostgreSQL alone and a conventional service"
ABOUT = """
How many collections a second malipo takes, over HTTP, durably, beside two others that do the same work on the same
tables of a PostgreSQL that is started for this:

  pgbench       PostgreSQL alone, one commit a payment, at its fastest of 4, 16 and 64 clients
  conventional  FastAPI and SQLAlchemy, one process, one commit a payment (benchmarks/conventional.py)
  malipo        one `malipo api` process, as it is

The load on the services is wrk's; every answer is counted against the rows in the database afterwards.
"""


def run(options: Any, say: Say) -> Told:
    plan = QUICK if options.quick else Plan()
    report = create.measure(replace(plan, **changes(options, "rounds", "seconds", "connections")), say)
    return Told(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    return {
        "name": "create",
        "machine": _machine(report),
        "results": [_result(report, system) for system in report.runs],
        "ratios": {name: round(ratio, 3) for name, ratio in report.ratios().items()},
    }


def _result(report: Report, system: str) -> dict[str, Any]:
    """The middle of the rounds for each figure, and the rate of every round."""
    runs = report.runs[system]
    result: dict[str, Any] = {
        "system": system,
        "per_second": round(report.per_second(system), 1),
        "p50_ms": middle(runs, lambda run: run.full.p50_ms),
        "p99_ms": middle(runs, lambda run: run.full.p99_ms),
        "connections": runs[0].full.connections,
        "rounds": [round(run.full.per_second, 1) for run in runs],
    }
    if halves := [run.half for run in runs if run.half]:
        result["half_load"] = {
            "per_second": middle(halves, lambda half: half.per_second),
            "p50_ms": middle(halves, lambda half: half.p50_ms),
            "p99_ms": middle(halves, lambda half: half.p99_ms),
        }
        result["memory_mb"] = middle(runs, lambda run: run.memory_mb)
        result["cpu_us"] = middle(runs, lambda run: run.cpu_us)
    return result


def _machine(report: Report) -> dict[str, Any]:
    return machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)


def _text(report: Report) -> str:
    plan, ratios = report.plan, report.ratios()
    lines = [
        f"{machine.sentence(_machine(report))}; the middle of {plan.rounds} rounds of {plan.seconds} s",
        "",
        f"{'create':<14}{'per second':>11}{'p50 ms':>9}{'p99 ms':>9}{'clients':>9}"
        f"{'half: per second':>18}{'p50 ms':>9}{'p99 ms':>9}{'CPU µs each':>13}{'RSS MB':>8}",
        *(_line(_result(report, system)) for system in report.runs),
        "",
        f"malipo / pgbench       {ratios['vs_pgbench']:.2f}",
        f"malipo / conventional  {ratios['vs_conventional']:.2f}",
        "",
        "Every answer was found in the database, and malipo's ledger check found nothing.",
        *machine.warning(_machine(report)),
    ]
    return "\n".join(lines)


def _line(result: dict[str, Any]) -> str:
    line = (
        f"{result['system']:<14}{result['per_second']:>11,.0f}{result['p50_ms']:>9.1f}{result['p99_ms']:>9.1f}"
        f"{result['connections']:>9}"
    )
    if half := result.get("half_load"):
        line += (
            f"{half['per_second']:>18,.0f}{half['p50_ms']:>9.1f}{half['p99_ms']:>9.1f}"
            f"{result['cpu_us']:>13,.0f}{result['memory_mb']:>8.0f}"
        )
    return line

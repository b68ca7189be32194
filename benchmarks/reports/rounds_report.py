"""What the rounds of `create` and of `hot-wallet` found, in words and in JSON."""

from typing import Any

from benchmarks import machine
from benchmarks.reports.result import Result, middle
from benchmarks.rounds import Report


def result_of(name: str, report: Report) -> Result:
    return Result(_value(name, report), _text(name, report))


def _value(name: str, report: Report) -> dict[str, Any]:
    return {
        "name": name,
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
    if runs[0].memory_mb is not None:
        result["memory_mb"] = middle(runs, lambda run: run.memory_mb)
        result["cpu_us"] = middle(runs, lambda run: run.cpu_us)
    if halves := [run.half for run in runs if run.half]:
        result["half_load"] = {
            "per_second": middle(halves, lambda half: half.per_second),
            "p50_ms": middle(halves, lambda half: half.p50_ms),
            "p99_ms": middle(halves, lambda half: half.p99_ms),
        }
    return result


def _machine(report: Report) -> dict[str, Any]:
    return machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)


def _text(name: str, report: Report) -> str:
    plan = report.plan
    half = f"{'half: per second':>18}{'p50 ms':>9}{'p99 ms':>9}" if plan.has_half else ""
    head = f"{name:<14}{'per second':>11}{'p50 ms':>9}{'p99 ms':>9}{'clients':>9}"
    of_rounds = f"the middle of {plan.rounds} rounds" if plan.rounds > 1 else "one round"
    lines = [
        f"{machine.sentence(_machine(report))}; {of_rounds} of {plan.seconds} s",
        "",
        f"{head}{'CPU µs each':>13}{'RSS MB':>8}{half}",
        *(_line(_result(report, system)) for system in report.runs),
        "",
        *(f"malipo / {ratio.removeprefix('vs_'):<13} {figure:.2f}" for ratio, figure in report.ratios().items()),
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
    if "cpu_us" in result:
        line += f"{result['cpu_us']:>13,.0f}{result['memory_mb']:>8.0f}"
    if half := result.get("half_load"):
        line += f"{half['per_second']:>18,.0f}{half['p50_ms']:>9.1f}{half['p99_ms']:>9.1f}"
    return line

"""The command line: `./run bench create`."""

import argparse
import os
import platform
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import msgspec

from benchmarks import create
from benchmarks.create import QUICK, Plan, Report, Run
from benchmarks.load import CannotMeasure
from malipo import log
from malipo.db.embedded import EmbeddedError

_BUSY_PERCENT = 10

_CREATE = """
How many collections a second malipo takes, over HTTP, durably, beside two others that do the same work on the same
tables of a PostgreSQL that is started for this:

  pgbench       PostgreSQL alone, one commit a payment, at its fastest of 4, 16 and 64 clients
  conventional  FastAPI and SQLAlchemy, one process, one commit a payment (benchmarks/conventional.py)
  malipo        one `malipo api` process, as it is

The load on the services is wrk's; every answer is counted against the rows in the database afterwards. Nothing is left
behind. Close other programs: the ratios can be compared between machines, the rates cannot.
"""


def main(arguments: Sequence[str]) -> int:
    parsed = _parser().parse_args(arguments)
    log.configure(level="error", stream=sys.stderr)
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    plan = QUICK if parsed.quick else Plan()
    changes = {name: value for name in ("rounds", "seconds", "connections") if (value := getattr(parsed, name))}
    try:
        report = create.measure(replace(plan, **changes), lambda line: print(f"bench: {line}", file=sys.stderr))
    except (CannotMeasure, EmbeddedError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(_json(report) if parsed.json else _text(report))
    return 0


def _parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="./run bench", description="Measures malipo beside others. Asserts nothing.")
    benchmarks = top.add_subparsers(title="benchmarks", metavar="BENCHMARK", required=True)
    one = benchmarks.add_parser(
        "create",
        help="collections a second, beside PostgreSQL alone and a conventional service",
        description=_CREATE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    one.add_argument("--quick", action="store_true", help="one short round, in less than a minute")
    one.add_argument("--json", action="store_true", help="print JSON, for programs")
    one.add_argument("--rounds", type=_whole(1, 100), help=f"how often each is measured ({Plan.rounds})")
    one.add_argument("--seconds", type=_whole(1, 600), help=f"of each measurement ({Plan.seconds})")
    one.add_argument("--connections", type=_whole(1, 1000), help=f"of wrk ({Plan.connections})")
    return top


def _whole(least: int, most: int) -> Any:
    def parse(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"must be a whole number from {least} to {most}, not {text!r}")
        return int(text)

    return parse


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _json(report: Report) -> str:
    value = {
        "name": "create",
        "machine": _machine(report),
        "results": [_result(report, system) for system in report.runs],
        "ratios": {name: round(ratio, 3) for name, ratio in report.ratios().items()},
    }
    return msgspec.json.format(msgspec.json.encode(value)).decode()


def _result(report: Report, system: str) -> dict[str, Any]:
    """The middle of the rounds for each figure, and the rate of every round."""
    runs = report.runs[system]
    result: dict[str, Any] = {
        "system": system,
        "per_second": round(report.per_second(system), 1),
        "p50_ms": _middle(runs, lambda run: run.full.p50_ms),
        "p99_ms": _middle(runs, lambda run: run.full.p99_ms),
        "connections": runs[0].full.connections,
        "rounds": [round(run.full.per_second, 1) for run in runs],
    }
    if all(run.half for run in runs):
        result["half_load"] = {
            "per_second": _middle(runs, lambda run: run.half.per_second),
            "p50_ms": _middle(runs, lambda run: run.half.p50_ms),
            "p99_ms": _middle(runs, lambda run: run.half.p99_ms),
        }
        result["memory_mb"] = _middle(runs, lambda run: run.memory_mb)
        result["cpu_us"] = _middle(runs, lambda run: run.cpu_us)
    return result


def _middle(runs: Sequence[Run], figure: Any) -> float:
    return round(float(median(figure(run) for run in runs)), 2)


def _machine(report: Report) -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "postgresql": report.postgres,
        "busy_percent": report.busy_percent,
    }


def _text(report: Report) -> str:
    machine = _machine(report)
    plan = report.plan
    lines = [
        f"{machine['cores']} cores {machine['architecture']}, {machine['system']}, Python {machine['python']}, "
        f"PostgreSQL {machine['postgresql']}; the middle of {plan.rounds} rounds of {plan.seconds} s",
        "",
        f"{'create':<14}{'per second':>11}{'p50 ms':>9}{'p99 ms':>9}{'clients':>9}"
        f"{'half: per second':>18}{'p50 ms':>9}{'p99 ms':>9}{'CPU µs each':>13}{'RSS MB':>8}",
    ]
    for system in report.runs:
        result = _result(report, system)
        line = (
            f"{system:<14}{result['per_second']:>11,.0f}{result['p50_ms']:>9.1f}{result['p99_ms']:>9.1f}"
            f"{result['connections']:>9}"
        )
        if half := result.get("half_load"):
            line += (
                f"{half['per_second']:>18,.0f}{half['p50_ms']:>9.1f}{half['p99_ms']:>9.1f}"
                f"{result['cpu_us']:>13,.0f}{result['memory_mb']:>8.0f}"
            )
        lines.append(line)
    ratios = report.ratios()
    lines += [
        "",
        f"malipo / pgbench       {ratios['vs_pgbench']:.2f}",
        f"malipo / conventional  {ratios['vs_conventional']:.2f}",
        "",
        "Every answer was found in the database, and malipo's ledger check found nothing.",
    ]
    if report.busy_percent > _BUSY_PERCENT:
        lines.append(
            f"Other programs kept this machine {report.busy_percent:.0f} % busy: a service of one process suffers most "
            "from that."
        )
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

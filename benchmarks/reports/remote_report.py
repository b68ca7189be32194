"""`bench remote` on the command line: what it is about, and what it found, in words and in JSON."""

from dataclasses import replace
from operator import itemgetter
from typing import Any

from benchmarks import machine, remote
from benchmarks.remote import QUICK, Plan, Report
from benchmarks.reports.result import Result, changes, middle
from benchmarks.rounds import Say

HELP = "rate and processor time with PostgreSQL on another machine, 0.5 ms and 2 ms away"
ABOUT = """
The loads of `cost` with PostgreSQL beside malipo, and behind a proxy of ours that delays every byte: so that a round
trip takes 0, 0.5 and 2 ms longer, half of it in each direction. For each distance: collections as fast as they are
taken, the rate at which a pile of whole payments is worked off, and at 150 whole payments a second their delay until
the webhook. The processor time of the proxy is a column of its own; what it takes from the other processes of a small
machine shows in the row of the proxy that adds nothing. The round trip is measured, since a proxy adds some itself.
"""
_HEAD = f"{'':<16}{'round trip ms':>14}{'per second':>11}{'p50 ms':>9}{'p99 ms':>9}"


def run(options: Any, say: Say) -> Result:
    report = remote.measure(replace(QUICK if options.quick else Plan(), **changes(options, "rounds", "seconds")), say)
    return Result(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    results = [_result(report, distance) for distance in report.runs]
    return {
        "name": "remote",
        "machine": machine.facts(postgres=report.postgres, busy_percent=report.busy_percent),
        "results": results,
        "ratios": {
            f"{load}_{result['system']}": round(result[load]["per_second"] / results[0][load]["per_second"], 3)
            for load in ("create", "journey")
            for result in results[1:]
        },
    }


def _result(report: Report, distance: remote.Distance) -> dict[str, Any]:
    """The middle of the rounds for each figure."""
    runs = report.runs[distance]
    return {
        "system": remote.name(distance),
        "round_trip_ms": middle(runs, lambda run: run.round_trip_ms),
        "create": {
            "per_second": middle(runs, lambda run: run.create.measured.per_second),
            "p50_ms": middle(runs, lambda run: run.create.measured.p50_ms),
            "p99_ms": middle(runs, lambda run: run.create.measured.p99_ms),
            "cpu_us": _by_part([run.create.cpu_us for run in runs]),
        },
        "journey": {
            "per_second": middle(runs, lambda run: run.journey.pile_per_second),
            "p50_ms": middle(runs, lambda run: run.journey.p50_ms),
            "p99_ms": middle(runs, lambda run: run.journey.p99_ms),
            "cpu_us": _by_part([run.journey.cpu_us for run in runs]),
        },
    }


def _by_part(figures: list[dict[str, float]]) -> dict[str, float]:
    return {part: middle(figures, itemgetter(part)) for part in figures[0]}


def _text(report: Report) -> str:
    plan = report.plan
    facts = machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)
    results = [_result(report, distance) for distance in report.runs]
    rounds = "one round" if plan.rounds == 1 else f"the middle of {plan.rounds} rounds"
    return "\n".join(
        [
            f"{machine.sentence(facts)}; {rounds} of {plan.seconds} s",
            "",
            f"create: {plan.connections} connections, as fast as they are answered",
            *_table(results, "create"),
            "",
            "journey: a pile that is worked off (per second); delay to the webhook and CPU at "
            f"{plan.rate} payments a second",
            *_table(results, "journey"),
            "",
            "Every answer was found in the database, all books agree, and malipo's ledger check found nothing.",
            *machine.warning(facts),
        ]
    )


def _table(results: list[dict[str, Any]], load: str) -> list[str]:
    """CPU is in microseconds a payment; `ours` is the sum without the proxy."""
    parts = list(results[0][load]["cpu_us"])
    head = _HEAD + f"{'ours µs':>10}" + "".join(f"{part:>12}" for part in parts)
    return [head, *(_line(result["system"], result["round_trip_ms"], result[load]) for result in results)]


def _line(system: str, round_trip_ms: float, figures: dict[str, Any]) -> str:
    cpu = figures["cpu_us"]
    ours = sum(us for part, us in cpu.items() if part != "proxy")
    return (
        f"{system:<16}{round_trip_ms:>14.2f}{figures['per_second']:>11,.0f}{figures['p50_ms']:>9.1f}"
        f"{figures['p99_ms']:>9.1f}{ours:>10,.0f}" + "".join(f"{us:>12,.0f}" for us in cpu.values())
    )

"""`bench start` on the command line: what it is about, and what it found, in words and in JSON."""

from dataclasses import replace
from typing import Any

from benchmarks import machine, start
from benchmarks.demo import PROCESSES, Memory
from benchmarks.reports.result import Result, changes
from benchmarks.rounds import Say
from benchmarks.start import PER_SECOND, QUICK, WATCHED, Plan, Report

HELP = "how soon everything is ready, its memory, and whether that grows"
ABOUT = f"""
`malipo demo` is what ./run starts: PostgreSQL, the simulated networks, the API and a worker. Measured are the seconds
until it is ready (/readyz), on an empty data folder and a second time on the same one; the memory of each process, idle
and after {PER_SECOND} payments a second from the API to the networks and back; and then, for --soak minutes of the same
load, whether the memory of the API and of the worker grows. RSS is what a process has; PSS is that with shared pages
divided among those who share them. PostgreSQL is the sum of its processes, so its RSS counts shared memory many times.
Every payment must be completed in the end.
"""


def run(options: Any, say: Say) -> Result:
    plan = replace(QUICK if options.quick else Plan(), **changes(options, "rounds"))
    if options.soak is not None:
        plan = replace(plan, soak_minutes=options.soak)
    report = start.measure(plan, say)
    return Result(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    value: dict[str, Any] = {
        "name": "start",
        "machine": _machine(report),
        "results": [
            {"system": "first start", "seconds": round(report.first, 2), "rounds": _rounded(report.first_seconds)},
            {"system": "second start", "seconds": round(report.second, 2), "rounds": _rounded(report.second_seconds)},
        ],
        "memory_mb": {
            name: {"idle": _sizes(report.idle[name]), "loaded": _sizes(report.loaded[name])} for name in PROCESSES
        },
        "load": {"payments": report.load.answers, "per_second": round(report.load.per_second, 1)},
        "ratios": {},
    }
    if report.plan.soak_minutes:
        value["soak"] = {"minutes": report.plan.soak_minutes, "payments": report.soak.payments} | {
            name: {
                "rss_mb": _rounded([each.rss for each in report.soak.minutes[name]]),
                "mb_per_minute": round(report.soak.slope(name), 3),
                "is_flat": report.soak.is_flat(name),
            }
            for name in WATCHED
        }
    return value


def _text(report: Report) -> str:
    lines = [
        machine.sentence(_machine(report)),
        "",
        f"start, seconds until ready{'first':>14}{'second':>9}",
        f"{'malipo demo':<26}{report.first:>14.2f}{report.second:>9.2f}",
        "",
        f"{'memory in MB':<16}{'idle: RSS':>12}{'PSS':>8}{'after a load: RSS':>20}{'PSS':>8}",
        *(_line(name, report.idle[name], report.loaded[name]) for name in PROCESSES),
        "",
        f"The load was {report.load.answers:,} payments, {report.load.per_second:.0f} a second.",
        *_soak(report),
        "Every payment was completed.",
        *machine.warning(_machine(report)),
    ]
    return "\n".join(lines)


def _line(name: str, idle: Memory, loaded: Memory) -> str:
    return f"{name:<16}{idle.rss:>12.1f}{_size(idle.pss):>8}{loaded.rss:>20.1f}{_size(loaded.pss):>8}"


def _soak(report: Report) -> list[str]:
    if not report.plan.soak_minutes:
        return []
    soak = report.soak
    lines = [
        "",
        f"{report.plan.soak_minutes} minutes of {PER_SECOND} payments a second, RSS in MB at each minute's end",
    ]
    for name in WATCHED:
        sizes = " ".join(f"{each.rss:.1f}" for each in soak.minutes[name])
        word = "flat" if soak.is_flat(name) else "GROWS"
        lines.append(f"{name:<8}{sizes}   {soak.slope(name):+.2f} MB a minute in the second half: {word}")
    return [*lines, ""]


def _machine(report: Report) -> dict[str, Any]:
    return machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)


def _size(size: float | None) -> str:
    return "-" if size is None else f"{size:.1f}"


def _sizes(memory: Memory) -> dict[str, float | None]:
    return {"rss": round(memory.rss, 1), "pss": None if memory.pss is None else round(memory.pss, 1)}


def _rounded(figures: list[float]) -> list[float]:
    return [round(figure, 2) for figure in figures]

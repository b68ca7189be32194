"""`bench journey` on the command line: what it is about, and what it found, in words and in JSON."""

from dataclasses import replace
from operator import itemgetter
from typing import Any

from benchmarks import machine
from benchmarks.journey import trials
from benchmarks.journey.load import Say
from benchmarks.journey.processes import CUSTOMER_SECONDS
from benchmarks.journey.trials import QUICK, Plan, Report
from benchmarks.reports.result import Result, changes, middle

HELP = "whole payments a second: from the request, over the network and its callback, to the merchant's webhook"
ABOUT = """
How many collections a second go all the way: wrk asks `malipo api` for them, `malipo worker` sends each to a simulated
network, whose customer approves after half a second, the network's signed callback completes it in the ledger,
and the worker posts payment.completed to the merchant's server (nginx). All of it runs on this machine, PostgreSQL too.

Payments come at a rate of their own, whatever is done with them, and the highest rate counts that leaves nothing
behind. Delays are from a payment's creation to the arrival of its webhook, with the customer's time in them. Afterwards
the network's book, the transactions, the wallets and nginx's log must agree on every payment. The same is measured
with two APIs and two workers on one PostgreSQL, which shows what the second of each adds: on two cores, nothing.
"""


def run(options: Any, say: Say) -> Result:
    plan = QUICK if options.quick else Plan()
    report = trials.measure(replace(plan, **changes(options, "rounds", "seconds")), say)
    return Result(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    return {
        "name": "journey",
        "machine": _machine(report),
        "results": [_result(report, of_each) for of_each in report.runs],
        "ratios": {name: round(ratio, 3) for name, ratio in report.ratios().items()},
    }


def _result(report: Report, of_each: int) -> dict[str, Any]:
    """The middle of the rounds for each figure, and the rate of every round."""
    runs = report.runs[of_each]
    return {
        "system": _label(of_each),
        "per_second": round(report.per_second(of_each), 1),
        "p50_ms": middle(runs, lambda run: run.p50_ms),
        "p99_ms": middle(runs, lambda run: run.p99_ms),
        "customer_ms": CUSTOMER_SECONDS * 1000,
        "drained_ms": middle(runs, lambda run: run.last_ms),
        "rounds": [round(run.per_second, 1) for run in runs],
        "cpu_us": _by_kind([run.cpu_us for run in runs]),
        "memory_mb": _by_kind([run.memory_mb for run in runs]),
        "payments": sum(run.payments for run in runs),
        "duplicates": sum(run.duplicates for run in runs),
    }


def _by_kind(figures: list[dict[str, float]]) -> dict[str, float]:
    """Of each kind of process, the middle of the rounds."""
    return {kind: middle(figures, itemgetter(kind)) for kind in figures[0]}


def _label(of_each: int) -> str:
    return "1 API, 1 worker" if of_each == 1 else f"{of_each} APIs, {of_each} workers"


def _machine(report: Report) -> dict[str, Any]:
    return machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)


def _text(report: Report) -> str:
    results = [_result(report, of_each) for of_each in report.runs]
    kinds = list(results[0]["cpu_us"])
    rounds = "one round" if report.plan.rounds == 1 else f"the middle of {report.plan.rounds} rounds"
    lines = [
        f"{machine.sentence(_machine(report))}; {rounds} of {report.plan.seconds} s",
        "",
        f"{'journey':<22}{'per second':>11}{'p50 ms':>9}{'p99 ms':>9}   RSS MB of the largest",
        *(_line(result) for result in results),
        "",
        f"{'CPU µs a payment':<22}{'all':>11}" + "".join(f"{kind:>12}" for kind in kinds),
        *(_cpu_line(result) for result in results),
        "",
        *(f"{name.replace('_vs_', ' of each / ')} of each   {ratio:.2f}" for name, ratio in report.ratios().items()),
        "",
        f"Of each delay the customer takes {CUSTOMER_SECONDS * 1000:.0f} ms. {_end(results)}",
        *machine.warning(_machine(report)),
    ]
    return "\n".join(lines)


def _line(result: dict[str, Any]) -> str:
    memory = ", ".join(f"{kind} {mb:.0f}" for kind, mb in result["memory_mb"].items())
    rate = f"{result['system']:<22}{result['per_second']:>11,.0f}"
    return f"{rate}{result['p50_ms']:>9.0f}{result['p99_ms']:>9.0f}   {memory}"


def _cpu_line(result: dict[str, Any]) -> str:
    cpu = result["cpu_us"]
    return f"{result['system']:<22}{sum(cpu.values()):>11,.0f}" + "".join(f"{us:>12,.0f}" for us in cpu.values())


def _end(results: list[dict[str, Any]]) -> str:
    duplicates = sum(result["duplicates"] for result in results)
    twice = {0: "no webhook came twice", 1: "one webhook came twice"}.get(
        duplicates, f"{duplicates} webhooks came twice"
    )
    payments = sum(result["payments"] for result in results)
    return f"All books agree on {payments:,} payments, and {twice}."

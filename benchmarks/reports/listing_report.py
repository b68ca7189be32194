"""`bench list` on the command line: what it is about, and what it found, in words and in JSON."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import listing, machine
from benchmarks.listing import QUICK, Plan, Report, Say
from benchmarks.reports.result import Result, changes

HELP = "the list of transactions: totals, filters, search and deep pages, for merchants of different sizes"
ABOUT = """
Each question is asked over HTTP of one `malipo api` process, by turns, for merchants of 100 thousand, 1 million and 10
million payments among 300 small ones (with --quick 1, 10 and 100 thousand), on one database. `malipo ledger check` must
be clean on it. The ratio is of the largest to the smallest. Plain SQL is what most services do, without HTTP:
PostgreSQL counts what fits with count(*), and goes to the page with OFFSET. Its totals must be ours. Writing 11 million
payments takes a while: with --data FOLDER they stay there for the next run.
"""


def run(options: Any, say: Say) -> Result:
    plan = replace(QUICK if options.quick else Plan(), **changes(options, "rounds"))
    if options.data:
        plan = replace(plan, data=Path(options.data))
    report = listing.measure(plan, say)
    return Result(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    return {
        "name": "list",
        "machine": machine.facts(postgres=report.postgres, busy_percent=report.busy_percent),
        "results": [
            {
                "system": "malipo",
                "question": question,
                "payments": size,
                "per_second": round(1000 / report.ms(question, size), 1),
                "p50_ms": round(report.ms(question, size), 2),
                "p99_ms": round(max(report.times[question][size]), 2),
            }
            for question in report.times
            for size in report.plan.sizes
        ]
        + [
            {"system": "plain SQL", "question": question, "payments": report.plan.sizes[-1], "p50_ms": round(took, 1)}
            for question, took in report.plain.items()
        ],
        "ratios": {question: round(report.ratio(question), 2) for question in report.times}
        | {"worst": round(max(map(report.ratio, report.times)), 2)}
        | {"vs_plain": {question: round(report.vs_plain(question) or 0, 1) for question in report.plain}},
    }


def _text(report: Report) -> str:
    facts = machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)
    sizes = report.plan.sizes
    lines = [
        f"{machine.sentence(facts)}; the middle of {report.plan.rounds} answers, ms",
        "",
        f"{'list':<26}{'found':>12}" + "".join(f"{size:>12,}" for size in sizes) + f"{'ratio':>8}{'plain SQL':>12}",
    ]
    for question in report.times:
        found = f"{report.totals[question]:,}" if question in report.totals else ""
        plain = f"{report.plain[question]:,.0f} ms" if question in report.plain else ""
        times = "".join(f"{report.ms(question, size):>12.1f}" for size in sizes)
        lines.append(f"{question:<26}{found:>12}{times}{report.ratio(question):>8.2f}{plain:>12}")
    lines += ["", "Every total is exact: PostgreSQL counted the same.", *machine.warning(facts)]
    return "\n".join(lines)

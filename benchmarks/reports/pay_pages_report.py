"""`bench pay-pages` on the command line: what it is about, and what it found, in words and in JSON."""

from dataclasses import replace
from typing import Any

from benchmarks import machine, pay_pages
from benchmarks.pay_pages import ALONE, LOOKING, OPENING, QUICK, Plan, Report, Turn
from benchmarks.reports.result import Result, changes, middle
from benchmarks.rounds import Say

HELP = "what customers on pay pages cost the programs of merchants"
ABOUT = """
How long POST /v1/payments takes at half of the rate that one `malipo api` takes: alone, beside 200 customers who look
at each page of a link for five seconds, and beside 200 who open the next page as soon as they have one. The customers
compute on the same machine.
"""


def run(options: Any, say: Say) -> Result:
    plan = replace(QUICK if options.quick else Plan(), **changes(options, "rounds", "seconds", "connections"))
    report = pay_pages.measure(plan, say)
    return Result(_value(report), _text(report))


def _value(report: Report) -> dict[str, Any]:
    return {
        "name": "pay-pages",
        "machine": machine.facts(postgres=report.postgres, busy_percent=report.busy_percent),
        "results": [_result(beside, turns) for beside, turns in report.turns.items()],
        "ratios": {
            f"p99_{beside}": round(_p99(report, beside) / _p99(report, ALONE), 2) for beside in (LOOKING, OPENING)
        },
    }


def _p99(report: Report, beside: str) -> float:
    return middle(report.turns[beside], lambda turn: turn.payments.p99_ms)


def _result(beside: str, turns: list[Turn]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "beside": beside,
        "per_second": middle(turns, lambda turn: turn.payments.per_second),
        "p50_ms": middle(turns, lambda turn: turn.payments.p50_ms),
        "p99_ms": middle(turns, lambda turn: turn.payments.p99_ms),
    }
    if pages := [turn.pages for turn in turns if turn.pages is not None]:
        result["pages"] = {
            "per_second": middle(pages, lambda each: each.per_second),
            "p50_ms": middle(pages, lambda each: each.p50_ms),
            "p99_ms": middle(pages, lambda each: each.p99_ms),
        }
    return result


def _text(report: Report) -> str:
    facts = machine.facts(postgres=report.postgres, busy_percent=report.busy_percent)
    head = f"{'pay pages':<14}{'per second':>11}{'p50 ms':>9}{'p99 ms':>9}"
    lines = [
        f"{machine.sentence(facts)}; the middle of {report.plan.rounds} rounds of {report.plan.seconds} s",
        "",
        f"{head}{'pages: per second':>20}{'p50 ms':>9}{'p99 ms':>9}",
        *(_line(_result(beside, turns)) for beside, turns in report.turns.items()),
        "",
        "No request was refused, and malipo's ledger check found nothing.",
        *machine.warning(facts),
    ]
    return "\n".join(lines)


def _line(result: dict[str, Any]) -> str:
    line = f"{result['beside']:<14}{result['per_second']:>11,.0f}{result['p50_ms']:>9.1f}{result['p99_ms']:>9.1f}"
    if pages := result.get("pages"):
        line += f"{pages['per_second']:>20,.0f}{pages['p50_ms']:>9.1f}{pages['p99_ms']:>9.1f}"
    return line

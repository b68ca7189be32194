"""`bench compare` on the command line."""

from typing import Any

from benchmarks import compare
from benchmarks.compare import Report, Say
from benchmarks.reports.result import Result

HELP = "processor time of a payment, beside another version"
ABOUT = """
`cost` of this version and of another one, by turns: --with COMMIT, or the one that benchmarks/reference.txt names. With
--gate it fails if a part of a payment costs more than 1.1 times what it did, in each of three measurements. The first
round is enough if no part costs more than 1.05 times as much.
"""
_ROUNDS, _QUICK_ROUNDS = 4, 2


def run(options: Any, say: Say) -> Result:
    commit = options.other or compare.reference()
    passed_on = [
        *(["--quick"] if options.quick else []),
        *(["--seconds", str(options.seconds)] if options.seconds else []),
    ]
    rounds = options.rounds or (_QUICK_ROUNDS if options.quick else _ROUNDS)

    def measure() -> Report:
        return compare.measure(commit, rounds, passed_on, say, until_sure=options.gate)

    if not options.gate:
        report = measure()
        return Result(_value(report), _text(report))
    if not compare.has(commit):
        return Result(
            {"name": "compare", "ratios": {}},
            f"NOT MEASURED: the history here does not have the version {commit} (a shallow clone?).",
        )
    report, grown = compare.hold(measure, say)
    failures = [f"{each} So it was each time." for each in grown]
    return Result(_value(report), _text(report), failures)


def _value(report: Report) -> dict[str, Any]:
    figures = {each: report.us(*each) for each in report.parts()}
    return {
        "name": "compare",
        "commit": report.commit,
        "results": [
            {"load": load, "part": part, "theirs_us": round(theirs, 1), "us": round(ours, 1)}
            for (load, part), (theirs, ours) in figures.items()
        ],
        "ratios": {f"{load}_{part}": round(ours / theirs, 3) for (load, part), (theirs, ours) in figures.items()},
    }


def _text(report: Report) -> str:
    head = f"{'µs a payment':<14}{'part':<12}{report.commit[:12]:>14}{'this version':>14}{'ratio':>8}"
    lines = []
    for load, part in report.parts():
        theirs, ours = report.us(load, part)
        lines.append(f"{load:<14}{part:<12}{theirs:>14,.0f}{ours:>14,.0f}{ours / theirs:>8.2f}")
    return "\n".join([head, *lines])

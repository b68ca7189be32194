"""The command line: `./run bench create`, or another benchmark, or several of them; without a name, which there are."""

import argparse
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from benchmarks.growth.trials import Plan as GrowthPlan
from benchmarks.load import CannotMeasure
from benchmarks.long_history.trials import Plan as LongHistoryPlan
from benchmarks.reconcile.trials import Plan as ReconcilePlan
from benchmarks.reports import (
    batch_report,
    compare_report,
    cost_report,
    create_report,
    growth_report,
    hot_wallet_report,
    idle_report,
    journey_report,
    limits_report,
    listing_report,
    long_history_report,
    pages_report,
    pay_pages_report,
    profile_report,
    reconcile_report,
    remote_report,
    start_report,
    statement_report,
    webhooks_report,
)
from benchmarks.reports.result import Result
from benchmarks.rounds import Plan as RoundsPlan
from benchmarks.start import Plan as StartPlan
from benchmarks.webhooks.trials import Plan as WebhooksPlan
from malipo import log
from malipo.db.embedded import EmbeddedError


class Benchmark(Protocol):
    """What a module has that reports for one benchmark."""

    HELP: str
    ABOUT: str

    def run(self, options: Any, say: Callable[[str], None], /) -> Result: ...


BENCHMARKS: dict[str, Benchmark] = {
    "cost": cost_report,
    "compare": compare_report,
    "create": create_report,
    "hot-wallet": hot_wallet_report,
    "journey": journey_report,
    "remote": remote_report,
    "batch": batch_report,
    "list": listing_report,
    "statement": statement_report,
    "reconcile": reconcile_report,
    "webhooks": webhooks_report,
    "pages": pages_report,
    "pay-pages": pay_pages_report,
    "limits": limits_report,
    "idle": idle_report,
    "start": start_report,
    "growth": growth_report,
    "long-history": long_history_report,
    "where": profile_report,
}

_END = """
Nothing is left behind. Close other programs: the ratios can be compared between machines, the rates cannot.
PostgreSQL's data are in the temporary folder of the system, on whatever disk that is: TMPDIR=FOLDER ./run bench …
measures on another one, and TMPDIR=/dev/shm in memory, where a flush costs nothing.
"""


def main(arguments: Sequence[str]) -> int:
    parsed = parse(arguments)
    if not parsed.benchmarks:
        print(_list())
        return 0
    log.configure(level="error", stream=sys.stderr)
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    try:
        return measure(parsed, BENCHMARKS)
    except (CannotMeasure, EmbeddedError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def measure(parsed: argparse.Namespace, benchmarks: Mapping[str, Benchmark]) -> int:
    """Measure what was asked for, and tell of it; the exit code."""
    reported: list[Result] = []
    for name in dict.fromkeys(parsed.benchmarks):
        reported.append(benchmarks[name].run(parsed, _say))
        if not parsed.json:
            print("\n" * (len(reported) > 1) + reported[-1].text, flush=True)
    if parsed.json:
        print(_json(reported))
    failures = [failure for each in reported for failure in each.failures]
    for failure in failures:
        _say(failure)
    return 1 if failures else 0


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _parser()
    parsed = parser.parse_args(arguments)
    if parsed.gate and parsed.benchmarks != ["compare"]:
        parser.error("--gate is for compare")
    return parsed


def _list() -> str:
    lines = [f"  {name:<14}{benchmark.HELP}" for name, benchmark in BENCHMARKS.items()]
    return "\n".join(["./run bench BENCHMARK … measures:", "", *lines, "", "./run bench --help tells more."])


def _parser() -> argparse.ArgumentParser:
    reported = [f"\n{name}: {benchmark.HELP}.\n{benchmark.ABOUT}" for name, benchmark in BENCHMARKS.items()]
    parser = argparse.ArgumentParser(
        prog="./run bench",
        description="Measures malipo beside others. Asserts nothing, except with --gate.",
        epilog="".join([*reported, _END]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "benchmarks", nargs="*", type=_name, metavar="BENCHMARK", help=f"one or more of {', '.join(BENCHMARKS)}"
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, in less than a minute each")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs; of several, a list")
    parser.add_argument("--rounds", type=_whole(1, 100), help=f"how often each is measured ({RoundsPlan.rounds})")
    parser.add_argument("--seconds", type=_whole(1, 600), help=f"of each measurement ({RoundsPlan.seconds})")
    of_create = parser.add_argument_group("only for create, hot-wallet and limits")
    of_create.add_argument("--connections", type=_whole(1, 1000), help=f"of wrk ({RoundsPlan.connections})")
    of_compare = parser.add_argument_group("only for compare")
    of_compare.add_argument("--with", dest="other", metavar="COMMIT", help="the other version")
    of_compare.add_argument("--gate", action="store_true", help="fail if a payment costs more than 1.1 times as much")
    of_lists = parser.add_argument_group("only for list, statement and long-history")
    of_where = parser.add_argument_group("only for where")
    of_where.add_argument("--svg", metavar="FILE", help="draw a picture of it")
    of_lists.add_argument("--data", type=Path, metavar="FOLDER", help="where the data stays for the next run")
    of_start = parser.add_argument_group("only for start")
    of_start.add_argument(
        "--soak",
        type=_whole(0, 1440),
        metavar="MINUTES",
        help=f"of load while the memory is watched ({StartPlan.soak_minutes}; with --quick none)",
    )
    of_growth = parser.add_argument_group("only for growth and long-history")
    of_growth.add_argument(
        "--payments",
        type=_whole(1_000, 100_000_000),
        help=f"that are made ({GrowthPlan.payments}; {LongHistoryPlan.payments})",
    )
    of_reconcile = parser.add_argument_group("only for reconcile")
    of_reconcile.add_argument(
        "--size", type=_whole(1_000, 10_000_000), help=f"payments, and lines of the statement ({ReconcilePlan.size})"
    )
    of_webhooks = parser.add_argument_group("only for webhooks")
    of_webhooks.add_argument(
        "--events", type=_whole(1, 1000), help=f"that wait for each endpoint at first ({WebhooksPlan.events})"
    )
    of_webhooks.add_argument(
        "--merchants",
        type=int,
        choices=(50, 1000),
        help=f"that the 1,000 endpoints belong to, 20 or 1 each ({WebhooksPlan.merchants})",
    )
    of_webhooks.add_argument(
        "--servers",
        type=int,
        choices=(1, 1000),
        help=f"that the endpoints are on; of 1000, each has an address of its own, on Linux ({WebhooksPlan.servers})",
    )
    return parser


def _name(text: str) -> str:
    # Not `choices`: of no name at all, argparse would say that it is none of them.
    if text not in BENCHMARKS:
        raise argparse.ArgumentTypeError(f"there is no benchmark {text!r}, only {', '.join(BENCHMARKS)}")
    return text


def _whole(least: int, most: int) -> Any:
    def parse(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"must be a whole number from {least} to {most}, not {text!r}")
        return int(text)

    return parse


def _say(line: str) -> None:
    print(f"bench: {line}", file=sys.stderr)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _json(reported: Sequence[Result]) -> str:
    """One benchmark is an object, as it would be without the others."""
    values = [each.value for each in reported]
    return msgspec.json.format(msgspec.json.encode(values[0] if len(values) == 1 else values)).decode()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

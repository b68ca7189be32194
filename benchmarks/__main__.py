"""The command line: `./run bench create`, or webhooks, pages, or several of them."""

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from benchmarks import create_report, pages_report, webhooks_report
from benchmarks.create import Plan as CreatePlan
from benchmarks.load import CannotMeasure
from benchmarks.told import Told
from benchmarks.webhooks import Plan as WebhooksPlan
from malipo import log
from malipo.db.embedded import EmbeddedError


class Benchmark(Protocol):
    """What a module has that reports for one benchmark."""

    HELP: str
    ABOUT: str

    def run(self, options: Any, say: Callable[[str], None], /) -> Told: ...


BENCHMARKS: dict[str, Benchmark] = {"create": create_report, "webhooks": webhooks_report, "pages": pages_report}

_END = """
Nothing is left behind. Close other programs: the ratios can be compared between machines, the rates cannot.
"""


def main(arguments: Sequence[str]) -> int:
    parsed = _parser().parse_args(arguments)
    log.configure(level="error", stream=sys.stderr)
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    told: list[Told] = []
    try:
        for name in dict.fromkeys(parsed.benchmarks):
            told.append(BENCHMARKS[name].run(parsed, _say))
            if not parsed.json:
                print("\n" * (len(told) > 1) + told[-1].text, flush=True)
    except (CannotMeasure, EmbeddedError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if parsed.json:
        print(_json(told))
    return 0


def _parser() -> argparse.ArgumentParser:
    told = [f"\n{name}: {benchmark.HELP}.\n{benchmark.ABOUT}" for name, benchmark in BENCHMARKS.items()]
    parser = argparse.ArgumentParser(
        prog="./run bench",
        description="Measures malipo beside others. Asserts nothing.",
        epilog="".join([*told, _END]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "benchmarks", nargs="+", choices=BENCHMARKS, metavar="BENCHMARK", help=f"one or more of {', '.join(BENCHMARKS)}"
    )
    parser.add_argument("--quick", action="store_true", help="one short round, in less than a minute each")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs; of several, a list")
    parser.add_argument("--rounds", type=_whole(1, 100), help=f"how often each is measured ({CreatePlan.rounds})")
    parser.add_argument("--seconds", type=_whole(1, 600), help=f"of each measurement ({CreatePlan.seconds})")
    of_create = parser.add_argument_group("only for create")
    of_create.add_argument("--connections", type=_whole(1, 1000), help=f"of wrk ({CreatePlan.connections})")
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


def _json(told: Sequence[Told]) -> str:
    """One benchmark is an object, as it would be without the others."""
    values = [each.value for each in told]
    return msgspec.json.format(msgspec.json.encode(values[0] if len(values) == 1 else values)).decode()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

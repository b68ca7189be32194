"""What ./run simulate does once its server is there: runs, progress, and the word about a failure."""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from malipo import log
from malipo_simulator import randomness as simulator_randomness
from malipo_simulator.simulator import load_credentials
from simulation import options, safeguards, template
from simulation.plan import Plan
from simulation.run import Result, Site
from simulation.runner import Broken, Runner
from simulation.shrink import shrink
from simulation.template import Server

_DEFAULT_SECONDS = 60.0
_QUIET_SECONDS = 60.0  # between lines of progress, where nobody watches
_FOUND, _BROKEN = 1, 3


def main(urls: list[str], folder: Path, arguments: list[str]) -> int:
    given = options.parse(arguments)
    servers = [Server(url) for url in urls]
    log.configure(level="warning", stream=sys.stderr)
    # The networks' credentials are those of every other process, but for RSA keys, which no seed makes.
    simulator_randomness.draw_from(random.Random("credentials"))
    site = Site(template.prepare(servers), load_credentials(folder), folder)
    if given.without is not None and not given.safeguards:
        safeguards.take_out(given.without, servers)
    runner = Runner(site, servers)
    try:
        if given.safeguards:
            return safeguards.show_table(runner, given, _say)
        if given.is_single:
            return _show_one(runner, given)
        return _search(runner, given)
    except Broken as error:
        _say(f"The simulation itself broke (this is not a finding): {error}")
        return _BROKEN
    except KeyboardInterrupt:
        return 130


def _show_one(runner: Runner, given: argparse.Namespace) -> int:
    plan = options.plan_of(given.first, given)
    result = runner.run(plan, tells_story=True)
    _describe(plan)
    if given.explain is not None or result.findings:
        print("\n".join(result.story))
    if given.twice and (again := runner.run(plan)).digest != result.digest:
        _say(f"NOT the same history: {result.digest} and {again.digest}")
        return _FOUND
    print(
        f"\nSeed {plan.seed}: {result.seconds:.0f} s of its life in {result.real_seconds:.1f} s, "
        f"{result.exchanges:,} exchanges with PostgreSQL, history {result.digest[:16]}"
    )
    return _verdict(result)


def _describe(plan: Plan) -> None:
    print(f"Seed {plan.seed}: {', '.join(plan.channels)}; {plan.workers} workers; {len(plan.payments)} payments")
    for number, fault in enumerate(plan.faults, 1):
        print(f"  fault {number:>2}  {fault}")


def _verdict(result: Result) -> int:
    for finding in result.findings:
        print(f"FOUND  {finding}")
    if not result.findings:
        print("Nothing was found.")
    return _FOUND if result.findings else 0


class _Progress:
    def __init__(self, given: argparse.Namespace) -> None:
        self._given = given
        self._began = time.monotonic()
        self._last = 0.0
        self.runs = self.payments = self.faults = 0
        self.kinds: Counter[str] = Counter()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def count(self, result: Result) -> None:
        self.runs += 1
        self.payments += result.payments
        self.faults += len(result.faults)
        self.kinds.update(fault.split()[0] for fault in result.faults)
        is_terminal = sys.stderr.isatty()
        if time.monotonic() - self._last > (0.3 if is_terminal else _QUIET_SECONDS):
            self._last = time.monotonic()
            start, end = ("\r", "\033[K") if is_terminal else ("", "\n")
            print(f"{start}{self.line()}{end}", end="", file=sys.stderr, flush=True)

    def line(self) -> str:
        seconds = max(self.seconds, 0.001)
        return (
            f"{self.runs:,} seeds ({self.runs / seconds:.1f}/s), "
            f"{self.payments:,} payments ({self.payments / seconds:.1f}/s), "
            f"{self.faults:,} faults ({self.faults / seconds:.1f}/s), {seconds:.0f} s"
        )


def _plans(given: argparse.Namespace, progress: _Progress) -> Iterator[Plan]:
    seconds = given.seconds if given.runs is not None or given.seconds is not None else _DEFAULT_SECONDS
    number = 0
    while (given.runs is None or number < given.runs) and (seconds is None or progress.seconds < seconds):
        yield options.plan_of(given.first + number, given)
        number += 1


def _search(runner: Runner, given: argparse.Namespace) -> int:
    progress = _Progress(given)
    print(f"Seeds from {given.first}, {given.payments} payments each, {given.jobs} at once.")
    digests: dict[int, str] = {}
    for result in runner.run_all(_twice(_plans(given, progress)) if given.twice else _plans(given, progress)):
        progress.count(result)
        if result.findings:
            _say("")
            return _report(runner, result, given)
        if digests.setdefault(result.seed, result.digest) != result.digest:
            _say(f"\nSeed {result.seed} has two histories: {digests[result.seed]} and {result.digest}")
            return _FOUND
    _say("")
    print(progress.line())
    print("Nothing was found.")
    return 0


def _twice(plans: Iterator[Plan]) -> Iterator[Plan]:
    for plan in plans:
        yield plan
        yield plan


def _report(runner: Runner, result: Result, given: argparse.Namespace) -> int:
    plan = options.plan_of(result.seed, given)
    kinds = {finding.partition(":")[0] for finding in result.findings}
    for finding in result.findings:
        print(f"FOUND  {finding}")
    if not given.no_shrink:
        _say(f"Seed {result.seed} fails. Looking for the smallest list of faults ...")

        def still_fails(candidate: Plan) -> bool:
            found = runner.run(candidate).findings
            return any(finding.partition(":")[0] in kinds for finding in found)

        shrunk = shrink(plan, still_fails)
        if (again := runner.run(shrunk, tells_story=True)).findings:
            plan, result = shrunk, again
        else:
            _say(
                "The smallest list does not fail again: this is the whole run. A run is not repeatable, which is a bug."
            )
    _describe(plan)
    print("\n".join(result.story))
    for finding in result.findings:
        print(f"FOUND  {finding}")
    print(f"\nTo see it again:  {options.command_for(plan, given)}")
    return _FOUND


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].split(","), Path(sys.argv[2]), sys.argv[3:]))

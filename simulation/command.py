"""Runs the seeds of ./run simulate once its server is there, and prints progress and failures."""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path

from malipo import log
from malipo.http.tls import client_context
from malipo_simulator import randomness as simulator_randomness
from malipo_simulator.simulator import load_credentials
from simulation import options, progress, safeguards, template
from simulation.plan import Plan
from simulation.progress import Progress
from simulation.run import Result, SharedParts
from simulation.runner import Runner, SimulationBroken
from simulation.shrink import shrink
from simulation.template import Server

_DEFAULT_SECONDS = 60.0
_MOST_NAMED = 20
_FOUND, _REFUSED, _BROKEN = 1, 2, 3


def main(urls: list[str], folder: Path, arguments: list[str]) -> int:
    given = options.parse(arguments)
    first = (given.seed or 0) if given.safeguards else given.first
    path = given.resume or (folder / "safeguards.jsonl" if given.safeguards else None)
    try:
        so_far = progress.begin(path, first, options.kept_with_progress(given), is_first_given=given.seed is not None)
    except progress.OtherRun as error:
        _say(str(error))
        return _REFUSED
    servers = [Server(url) for url in urls]
    log.configure(level="warning", stream=sys.stderr)
    # The networks' credentials are those of every other process, but for RSA keys, which no seed makes.
    simulator_randomness.draw_from(random.Random("credentials"))
    client_context()  # Made once, and not in every fork.
    site = SharedParts(template.prepare(servers), load_credentials(folder), folder)
    if given.without is not None and not given.safeguards:
        safeguards.take_out(given.without, servers)
    runner = Runner(site, servers)
    try:
        if given.safeguards:
            return safeguards.show_table(runner, given, so_far, _say)
        if given.is_single:
            return _show_one(runner, given)
        return _search(runner, given, so_far)
    except SimulationBroken as error:
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
    print(
        f"Seed {plan.seed}: {', '.join(plan.channels)}; {plan.workers} workers; {len(plan.payments)} payments"
        + (f"; {len(plan.links)} links" if plan.links else "")
    )
    for number, fault in enumerate(plan.faults, 1):
        print(f"  fault {number:>2}  {fault}")


def _verdict(result: Result) -> int:
    for finding in result.findings:
        print(f"FOUND  {finding}")
    if not result.findings:
        print("Nothing was found.")
    return _FOUND if result.findings else 0


def _plans(given: argparse.Namespace, so_far: Progress) -> Iterator[Plan]:
    is_limited = given.seeds or given.runs is not None or given.seconds is not None
    seconds = given.seconds if is_limited else _DEFAULT_SECONDS
    done = {each.seed for each in so_far.outcomes}
    for seed in islice(given.seeds or count(so_far.head.first), given.runs):
        if seconds is not None and so_far.seconds >= seconds:
            return
        if seed not in done:
            yield options.plan_of(seed, given)


def _search(runner: Runner, given: argparse.Namespace, so_far: Progress) -> int:
    print(f"{_which(given.seeds, so_far)}, {given.payments} payments each, {given.jobs} at once.")
    if so_far.is_resumed:
        print(f"So far: {so_far.line()}", flush=True)
    digests: dict[int, str] = {}
    try:
        for result in runner.run_all(_twice(_plans(given, so_far)) if given.twice else _plans(given, so_far)):
            so_far.add(result)
            so_far.say()
            if result.findings and given.resume is None:
                _say("")
                return _report(runner, result, given)
            if result.findings:  # A long run goes on, and names them all in the end.
                print("\n".join(f"FOUND  seed {result.seed}: {each}" for each in result.findings), flush=True)
            if digests.setdefault(result.seed, result.digest) != result.digest:
                _say(f"\nSeed {result.seed} has two histories: {digests[result.seed]} and {result.digest}")
                return _FOUND
    except KeyboardInterrupt:
        print(f"\n{so_far.line()}")
        raise
    _say("")
    return _sum_up(so_far, given)


def _which(seeds: Sequence[int], so_far: Progress) -> str:
    if not seeds:
        return f"Seeds from {so_far.head.first}"
    if len(seeds) > _MOST_NAMED:
        return f"{len(seeds):,} seeds from {min(seeds)} to {max(seeds)}"
    return f"Seeds {', '.join(map(str, seeds))}"


def _sum_up(so_far: Progress, given: argparse.Namespace) -> int:
    print(so_far.line())
    found = [each for each in so_far.outcomes if each.findings]
    for each in sorted(found, key=lambda each: each.seed):
        print(f"FOUND  {each.findings[0]}")
        print(f"       {options.command_for(options.plan_of(each.seed, given), given)}")
    print(f"{len(found):,} of {len(so_far.outcomes):,} seeds have findings." if found else "Nothing was found.")
    return _FOUND if found else 0


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

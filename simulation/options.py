"""The options of ./run simulate."""

import argparse
import os
import random
from dataclasses import replace
from pathlib import Path

from simulation import plan as plans
from simulation.plan import KINDS, Plan

_SEEDS = 1_000_000_000
_KEPT = (
    "seeds",
    "payments",
    "faults",
    "restore",
    "only",
    "orders",
    "links",
    "without_links",
    "without_settlements",
    "without",
    "safeguards",
    "count_all",
)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run simulate",
        description="API processes, workers and networks in one process, in virtual time, on a real PostgreSQL, with "
        "faults by seed. See docs/simulation.md.",
    )
    add = parser.add_argument
    add("--seed", type=int, metavar="N", help="begin with this seed; alone, run only this one")
    add("--seeds", metavar="N,…", help="these seeds, in this order; one that is named twice must have one history")
    add("--runs", type=int, metavar="N", help="so many seeds")
    add("--seconds", type=float, metavar="N", help="as many seeds as there is time for (default: 60)")
    add("--payments", type=int, default=8, metavar="N", help="in each run (default: 8)")
    add("--faults", metavar="KIND,…", help="only these kinds of faults, or 'none'; 'list' names them")
    add("--explain", type=int, metavar="SEED", help="tell the story of a seed, whether or not it fails")
    add("--only", metavar="N,…", help="of a seed's faults only these, by their number in its story")
    add("--restore", action="store_true", help="every seed has a restore, also those that draw none")
    add("--orders", metavar="N,…", help="of a seed's payments only these")
    add("--links", metavar="N,…", help="of a seed's payment links only these")
    add(
        "--without-links",
        action="store_true",
        help="no payment links, pay pages and receipts",
    )
    add("--without-settlements", action="store_true", help="no settlements, and no days after a run")
    add("--twice", action="store_true", help="run each seed twice, and compare the histories")
    add("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="runs side by side (default: one a core)")
    add("--without", metavar="SAFEGUARD", help="take a safeguard of the service out; 'list' names them")
    add(
        "--safeguards", action="store_true", help="take each safeguard out alone, until a seed notices (of --runs, 200)"
    )
    add("--count-all", action="store_true", help="with --safeguards: run all seeds, and count those that notice")
    add("--resume", type=Path, metavar="FILE", help="keep the progress in this file, and go on where it stopped")
    add("--no-shrink", action="store_true", help="on a failure, do not look for the smallest list of faults")
    given = parser.parse_args(arguments)
    kinds = (given.faults or "").split(",")
    for kind in kinds:
        if kind not in ("", "none", "list", *KINDS):
            parser.error(f"there is no kind of fault {kind!r}; there are: {', '.join(KINDS)}")
    for name in ("runs", "payments", "jobs"):
        if getattr(given, name) is not None and getattr(given, name) < 1:
            parser.error(f"--{name} must be 1 or more")
    given.kinds = None if given.faults is None else [kind for kind in kinds if kind in KINDS]
    if given.explain is not None:
        given.seed = given.explain
    given.is_single = given.seed is not None and given.runs is None and given.seconds is None
    given.seeds = _numbers(parser, given.seeds)
    if given.seeds is not None and (not given.seeds or given.seed is not None or given.safeguards):
        parser.error("--seeds is a list of seeds, and stands without --seed, --explain and --safeguards")
    named = given.seeds[0] if given.seeds else given.seed
    given.first = random.SystemRandom().randrange(_SEEDS) if named is None else named
    if given.resume is not None and (given.twice or (given.is_single and not given.safeguards)):
        parser.error("--resume is for many seeds, each once")
    given.only = _numbers(parser, given.only)
    given.orders = _numbers(parser, given.orders)
    given.links = _numbers(parser, given.links)
    return given


def _numbers(parser: argparse.ArgumentParser, text: str | None) -> list[int] | None:
    try:
        return None if text is None else [int(each) for each in text.split(",") if each]
    except ValueError:
        parser.error(f"{text!r} is not a list of numbers")


def plan_of(seed: int, given: argparse.Namespace) -> Plan:
    plan = _draw(seed, given)
    if given.only is not None:
        plan = replace(plan, faults=tuple(each for n, each in enumerate(plan.faults, 1) if n in given.only))
    if given.orders is not None:
        plan = replace(plan, payments=tuple(each for each in plan.payments if each.number in given.orders))
    if given.links is not None:
        plan = replace(plan, links=tuple(each for each in plan.links if each.number in given.links))
    return plan


def _draw(seed: int, given: argparse.Namespace) -> Plan:
    return plans.draw(
        seed,
        payments=given.payments,
        kinds=given.kinds,
        has_restore=given.restore,
        has_links=not given.without_links,
        has_settlements=not given.without_settlements,
    )


def kept_with_progress(given: argparse.Namespace) -> dict[str, str]:
    """The options that make a run another run. How long it may take is not among them."""
    return {name: str(getattr(given, name)) for name in _KEPT if getattr(given, name) not in (None, False)}


def command_for(plan: Plan, given: argparse.Namespace) -> str:
    """What shows this run again."""
    whole = _draw(plan.seed, given)
    words = ["./run simulate", f"--explain {plan.seed}"]
    if given.payments != 8:
        words.append(f"--payments {given.payments}")
    if given.faults is not None:
        words.append(f"--faults {given.faults}")
    if given.restore:
        words.append("--restore")
    if plan.faults != whole.faults:
        kept = [str(number) for number, each in enumerate(whole.faults, 1) if each in plan.faults]
        words.append(f"--only {','.join(kept) or ','}")
    if plan.payments != whole.payments:
        words.append(f"--orders {','.join(str(each.number) for each in plan.payments) or ','}")
    if given.without_links:
        words.append("--without-links")
    if given.without_settlements or plan.settlements != whole.settlements:
        words.append("--without-settlements")
    if plan.links != whole.links:
        words.append(f"--links {','.join(str(each.number) for each in plan.links) or ','}")
    if given.without is not None:
        words.append(f"--without {given.without}")
    return " ".join(words)

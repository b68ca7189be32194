"""Takes each safeguard out of the service, alone, until a seed notices, or counts all that do.

A safeguard that no seed notices is not needed, is covered by another, or is not simulated. Its note says which. The
safeguards are in `safeguard_list/`.
"""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from simulation import options
from simulation.plan import Plan
from simulation.progress import Progress
from simulation.run import Result
from simulation.runner import Runner
from simulation.safeguard_list import (
    adoptions,
    answers,
    bank,
    events,
    links,
    locks,
    receipts,
    requests,
    restores,
    sending,
    settlements,
    statements,
)
from simulation.safeguard_list.remove_safeguard import InFunction, Safeguard
from simulation.template import TEMPLATE, Server

_PARTS = (
    requests,
    locks,
    sending,
    answers,
    restores,
    adoptions,
    statements,
    events,
    links,
    receipts,
    settlements,
    bank,
)
SAFEGUARDS: dict[str, Safeguard] = {each.name: each for part in _PARTS for each in part.SAFEGUARDS}

_RUNS = 200
_WHOLE = f"{TEMPLATE}_whole"
_NOTHING = Safeguard("nothing taken out", "", ())


def take_out(name: str, servers: list[Server]) -> None:
    """For the rest of this process, and in the templates."""
    SAFEGUARDS[name].take_out()
    for server in servers:
        _change(server, TEMPLATE, *SAFEGUARDS[name].sql)


def show_table(runner: Runner, given: argparse.Namespace, so_far: Progress, say: Callable[[str], None]) -> int:
    """Whether nothing was found with all safeguards in, as an exit code."""
    chosen = [SAFEGUARDS[given.without]] if given.without is not None else [_NOTHING, *SAFEGUARDS.values()]
    count = given.runs or _RUNS
    what = "seeds that notice" if given.count_all else "the first seed that notices"
    print(f"| taken out, alone | {what}, of {count:,} | reached by | by what | s |\n|---|---|---|---|---|", flush=True)
    has_false_alarm = False
    for safeguard in chosen:
        # In a process of its own: what is taken out stays out until it ends.
        is_noticed = _in_a_fork(partial(_show_row, runner, given, so_far, safeguard, count))
        so_far.read_again()
        has_false_alarm |= is_noticed and safeguard is _NOTHING
    if has_false_alarm:
        say("Something was found with all safeguards in: the other rows say nothing until that is fixed.")
    return int(has_false_alarm)


def _in_a_fork(act: Callable[[], bool]) -> bool:
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 2
        try:
            code = int(act())
        finally:
            sys.stdout.flush()
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1):
        raise RuntimeError(f"the process of a row ended with {code}")
    return code == 1


class SafeguardResult:
    """The seeds of one safeguard, those of earlier sittings too.

    A seed whose whole run never reached the safeguard is the same run without it: it is not run again.
    """

    def __init__(self, given: argparse.Namespace, so_far: Progress, safeguard: Safeguard, count: int) -> None:
        self._given = given
        self._so_far = so_far
        self._safeguard = safeguard
        self._seeds = range(so_far.head.first, so_far.head.first + count)
        self._outcomes = {each.seed: each for each in so_far.of(safeguard.name) if each.seed in self._seeds}
        whole = {} if safeguard is _NOTHING else {each.seed: each for each in so_far.of(_NOTHING.name)}
        self._unreached = {
            seed for seed in self._seeds if seed in whole and not safeguard.is_reached(whole[seed].reached)
        }

    @property
    def noticed(self) -> list[int]:
        return sorted(seed for seed, outcome in self._outcomes.items() if outcome.findings)

    def plans(self) -> Iterator[Plan]:
        """Of the seeds that are left. After the first that notices none is begun; those before it have all begun. With
        every safeguard in all are run, to see what they reach."""
        runs_all = self._given.count_all or self._safeguard is _NOTHING
        for seed in self._seeds:
            if self.noticed and seed > self.noticed[0] and not runs_all:
                return
            if seed not in self._outcomes and seed not in self._unreached:
                yield options.plan_of(seed, self._given)

    def add(self, result: Result) -> None:
        self._outcomes[result.seed] = self._so_far.add(result, without=self._safeguard.name)

    def line(self) -> str:
        noticed = self.noticed
        counted = noticed if self._given.count_all else noticed[:1]
        kinds = Counter(
            kind
            for seed in counted
            for kind in {finding.partition(":")[0] for finding in self._outcomes[seed].findings}
        )
        if self._given.count_all:
            shown = str(len(noticed))
            by_what = ", ".join(f"{kind} {seeds}" for kind, seeds in kinds.most_common())
            by_what += f"; the first is {noticed[0]}" if noticed else ""
        else:
            shown, by_what = (str(noticed[0]) if noticed else "none"), ", ".join(sorted(kinds))
        by_what = by_what or self._safeguard.note or "-"
        seconds = sum(each.took for each in self._outcomes.values())
        run = len(self._seeds) - len(self._unreached)
        return f"| {self._safeguard.name} | {shown} | {run} | {by_what} | {seconds:.0f} |"


def _show_row(runner: Runner, given: argparse.Namespace, so_far: Progress, safeguard: Safeguard, count: int) -> bool:
    row = SafeguardResult(given, so_far, safeguard, count)
    if next(row.plans(), None) is not None:
        with ExitStack() as stack:
            for server in runner.servers:
                stack.enter_context(_altered(server, safeguard.sql))
            safeguard.take_out()
            if safeguard is _NOTHING:
                watch_all()
            for result in runner.run_all(row.plans(), counts_broken_runs=True):
                row.add(result)
    print(row.line(), flush=True)
    return bool(row.noticed)


def watch_all() -> None:
    """Two safeguards may have a change in common."""
    for change in {change for each in SAFEGUARDS.values() for change in each.changes if isinstance(change, InFunction)}:
        change.watch()


@contextmanager
def _altered(server: Server, sql: tuple[str, ...]) -> Iterator[None]:
    """The template without a constraint, and whole again afterwards."""
    if not sql:
        yield
        return
    _change(server, "postgres", f"CREATE DATABASE {_WHOLE} TEMPLATE {TEMPLATE} STRATEGY = FILE_COPY")
    _change(server, TEMPLATE, *sql)
    try:
        yield
    finally:
        _change(server, "postgres", f"DROP DATABASE {TEMPLATE}", f"ALTER DATABASE {_WHOLE} RENAME TO {TEMPLATE}")


def _change(server: Server, database: str, *statements: str) -> None:
    if not statements:
        return
    connection = server.connect(database)
    for statement in statements:
        connection.ask(statement)
    connection.close_and_wait()

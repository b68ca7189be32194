"""Takes each safeguard out of the service, alone, and counts the seeds that notice.

A safeguard that no seed notices is not needed, is covered by another, or is not simulated. Its note says which. The
safeguards are in `safeguard_list/`.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

from simulation import options
from simulation.runner import Runner
from simulation.safeguard_list import answers, events, locks, requests, restores, sending
from simulation.taking_out import Safeguard
from simulation.template import TEMPLATE, Server

_PARTS = (requests, locks, sending, answers, restores, events)
SAFEGUARDS: dict[str, Safeguard] = {each.name: each for part in _PARTS for each in part.SAFEGUARDS}

_RUNS = 200
_WHOLE = f"{TEMPLATE}_whole"
_NOTHING = Safeguard("nothing taken out", "", ())


def take_out(name: str, servers: list[Server]) -> None:
    """For the rest of this process, and in the templates."""
    SAFEGUARDS[name].take_out()
    for server in servers:
        _change(server, TEMPLATE, *SAFEGUARDS[name].sql)


def show_table(runner: Runner, given: argparse.Namespace, say: Callable[[str], None]) -> int:
    """Whether nothing was found with all safeguards in, as an exit code."""
    chosen = [SAFEGUARDS[given.without]] if given.without is not None else [_NOTHING, *SAFEGUARDS.values()]
    count = given.runs or _RUNS
    print(f"| taken out, alone | seeds that notice, of {count:,} | by what | s |\n|---|---|---|---|", flush=True)
    has_false_alarm = False
    for safeguard in chosen:
        # In a process of its own: what is taken out stays out until it ends.
        is_noticed = _in_a_fork(partial(_show_row, runner, given, safeguard, count))
        has_false_alarm |= is_noticed and safeguard is _NOTHING
    if has_false_alarm:
        say("Something was found with all safeguards in: the other rows say nothing until that is mended.")
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


@dataclass
class _Row:
    noticed: list[int] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)  # how many seeds have a finding of each kind


def _show_row(runner: Runner, given: argparse.Namespace, safeguard: Safeguard, count: int) -> bool:
    began = time.monotonic()
    row = _Row()
    first = given.seed or 0
    with ExitStack() as stack:
        for server in runner.servers:
            stack.enter_context(_altered(server, safeguard.sql))
        safeguard.take_out()
        plans = (options.plan_of(seed, given) for seed in range(first, first + count))
        for result in runner.run_all(plans, counts_broken_runs=True):
            if result.findings:
                row.noticed.append(result.seed)
                row.kinds.update({finding.partition(":")[0] for finding in result.findings})
    print(_line(safeguard, row, time.monotonic() - began), flush=True)
    return bool(row.noticed)


def _line(safeguard: Safeguard, row: _Row, seconds: float) -> str:
    by_what = ", ".join(f"{kind} {seeds}" for kind, seeds in row.kinds.most_common())
    if row.noticed:
        by_what += f"; the first is {min(row.noticed)}"
    elif safeguard.note:
        by_what = safeguard.note
    return f"| {safeguard.name} | {len(row.noticed)} | {by_what or '-'} | {seconds:.0f} |"


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

"""Runs plans in forked processes, several side by side, each on a server and a database of its own.

A fork is what makes a run repeatable: it begins with the memory of a process that has done nothing yet, and whatever it
leaves behind ends with it.
"""

import os
import select
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import partial

import msgspec

from simulation.plan import Plan
from simulation.run import Result, SharedParts, run
from simulation.template import Server

_MOST_REAL_SECONDS = 300


class SimulationBroken(Exception):  # noqa: N818
    """The simulation itself failed: its own fault, not the service's."""


class Runner:
    def __init__(self, site: SharedParts, servers: list[Server]) -> None:
        self.servers = servers
        self._site = site

    def run(self, plan: Plan, **options: bool) -> Result:
        """One plan."""
        return next(self.run_all([plan], **options))

    def run_all(self, plans: Iterable[Plan], *, counts_broken_runs: bool = False, **options: bool) -> Iterator[Result]:
        """The results as they come, which need not be the order of the plans.

        A service without one of its safeguards may break the run itself: where that counts, it is a finding.
        """
        waiting = iter(plans)
        free = list(range(len(self.servers)))
        under_way: dict[int, _Child] = {}
        try:
            while True:
                while free and (plan := next(waiting, None)) is not None:
                    number = free.pop()
                    child = _Child(plan, self._site, self.servers[number % len(self.servers)], number, options)
                    under_way[child.pipe] = child
                if not under_way:
                    return
                ready, _, _ = select.select(list(under_way), [], [], 1.0)
                for pipe in ready:
                    if (result := under_way[pipe].read(counts_broken=counts_broken_runs)) is not None:
                        free.append(under_way.pop(pipe).number)
                        yield result
                for child in list(under_way.values()):
                    if child.is_overdue:
                        if not counts_broken_runs:
                            raise SimulationBroken(child.overdue_words)
                        child.kill()
                        os.close(child.pipe)
                        del under_way[child.pipe]
                        free.append(child.number + len(self.servers))  # Its database may still be in use.
                        yield Result(child.plan.seed, [f"broken: {child.overdue_words}"])
        finally:
            for child in under_way.values():
                child.kill()


class _Child:
    def __init__(self, plan: Plan, site: SharedParts, server: Server, number: int, options: dict[str, bool]) -> None:
        self.plan = plan
        self.number = number
        self._began = time.monotonic()
        self._answer = b""
        self.pipe, far = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            _use_core(number)
            _answer(far, partial(run, plan, site, server, name=f"sim_{number}", **options))
        os.close(far)

    def read(self, *, counts_broken: bool = False) -> Result | None:
        """None until all of it is there."""
        data = os.read(self.pipe, 1 << 20)
        self._answer += data
        if data:
            return None
        os.close(self.pipe)
        os.waitpid(self.pid, 0)
        answer = msgspec.json.decode(self._answer) if self._answer else {"broken": "the run ended without a word"}
        if "broken" in answer and counts_broken:
            return Result(self.plan.seed, [f"broken: {answer['broken']}"])
        if "broken" in answer:
            raise SimulationBroken(f"seed {self.plan.seed}: {answer['broken']}")
        return Result(**answer)

    @property
    def is_overdue(self) -> bool:
        return time.monotonic() - self._began > _MOST_REAL_SECONDS

    @property
    def overdue_words(self) -> str:
        return f"seed {self.plan.seed}: no result after {_MOST_REAL_SECONDS} s"

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _use_core(number: int) -> None:
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[number % len(cores)]})


def _answer(pipe: int, act: Callable[[], Result]) -> None:
    """In the child. It never returns."""
    try:
        answer = msgspec.json.encode(asdict(act()))
    except BaseException:
        answer = msgspec.json.encode({"broken": traceback.format_exc()})
    with os.fdopen(pipe, "wb") as file:
        file.write(answer)
    os._exit(0)

"""`bench start`: how soon everything is ready, how much memory it takes, and whether that grows."""

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import linear_regression, median

from benchmarks import demo, load, measured_processes
from benchmarks.demo import Demo, Memory
from benchmarks.load import Measured
from benchmarks.rounds import Say

PER_SECOND = 50
FLAT_MB = 0.5  # a minute
WATCHED = ("api", "worker")

_SETTLED_SECONDS = 3  # after a start, until what it does once is done


@dataclass(frozen=True)
class Plan:
    rounds: int = 3
    load_seconds: int = 20
    soak_minutes: int = 10


QUICK = Plan(rounds=1, load_seconds=5, soak_minutes=0)


@dataclass
class Soak:
    """The memory of each minute."""

    minutes: dict[str, list[Memory]] = field(default_factory=lambda: {name: [] for name in WATCHED})
    payments: int = 0

    def slope(self, process: str) -> float:
        """MB a minute, in the second half: until then it takes what it needs once."""
        sizes = [each.rss for each in self.minutes[process]]
        late = sizes[len(sizes) // 2 :] if len(sizes) > 3 else sizes
        return linear_regression(range(len(late)), late).slope if len(late) > 1 else 0.0

    def is_flat(self, process: str) -> bool:
        return self.slope(process) < FLAT_MB


@dataclass(frozen=True)
class Report:
    plan: Plan
    postgres: str
    busy_percent: float
    first_seconds: list[float]
    second_seconds: list[float]
    idle: dict[str, Memory]
    load: Measured
    loaded: dict[str, Memory]
    soak: Soak

    @property
    def first(self) -> float:
        return median(self.first_seconds)

    @property
    def second(self) -> float:
        return median(self.second_seconds)


def measure(plan: Plan, say: Say) -> Report:
    load.need_wrk()
    busy = measured_processes.busy_percent()
    first: list[float] = []
    second: list[float] = []
    for number in range(1, plan.rounds + 1):
        say(f"round {number} of {plan.rounds}: a first and a second start ...")
        with tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
            data = Path(folder) / "var"
            with demo.started(data) as running:
                first.append(running.start_seconds)
            with demo.started(data) as running:
                second.append(running.start_seconds)
                if number == plan.rounds:
                    return Report(plan, running.postgres, busy, first, second, *_memory(plan, running, say))
    raise AssertionError("a plan has a round")


def _memory(plan: Plan, running: Demo, say: Say) -> tuple[dict[str, Memory], Measured, dict[str, Memory], Soak]:
    time.sleep(_SETTLED_SECONDS)
    idle = running.memory()
    say(f"{plan.load_seconds} s of {PER_SECOND} payments a second ...")
    paid = running.pay("load", per_second=PER_SECOND, seconds=plan.load_seconds)
    running.wait_for(paid.answers)
    loaded = running.memory()
    soak = Soak()
    for minute in range(1, plan.soak_minutes + 1):
        soak.payments += running.pay(f"soak-{minute}", per_second=PER_SECOND, seconds=60).answers
        memory = running.memory()
        for name, sizes in soak.minutes.items():
            sizes.append(memory[name])
        reported = ", ".join(f"{name} {sizes[-1].rss:.1f} MB" for name, sizes in soak.minutes.items())
        say(f"minute {minute} of {plan.soak_minutes}: {reported}")
    running.wait_for(paid.answers + soak.payments)
    return idle, paid, loaded, soak

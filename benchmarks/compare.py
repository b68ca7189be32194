"""`bench compare`: what a payment costs beside another version, by turns; and the gate that lets no version cost more.

Each version measures itself with its own `bench cost`, in a folder of its own. By turns, because a shared machine is
faster now and slower then. What costs too much is measured again: only what does so each time counts.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec

from benchmarks.load import CannotMeasure

Say = Callable[[str], None]
Microseconds = Mapping[str, Mapping[str, float]]  # by load and part
Turn = Callable[[int], Microseconds]  # in the round of this number

ROOT = Path(__file__).parents[1]
REFERENCE = Path(__file__).with_name("reference.txt")
MOST = 1.10  # of what the other version's payment costs
MEASUREMENTS = 3  # in which it must be more
SURELY = 1.05  # If no part costs more in the first round, the gate needs no other one.
_PACKAGES = ("benchmarks", "malipo", "malipo_simulator")
_PATIENCE_SECONDS = 600


@dataclass(frozen=True)
class Growth:
    """A part that costs too much."""

    load: str
    part: str
    theirs_us: float
    ours_us: float

    @property
    def ratio(self) -> float:
        return self.ours_us / self.theirs_us

    def __str__(self) -> str:
        return (
            f"{self.load}: a payment takes {self.ours_us:,.0f} µs of {self.part}, "
            f"{self.ratio:.2f} times the {self.theirs_us:,.0f} of the other version; {MOST:.2f} is allowed."
        )


@dataclass(frozen=True)
class Report:
    commit: str
    ours: list[Microseconds]
    theirs: list[Microseconds]

    def us(self, load: str, part: str) -> tuple[float, float]:
        """Theirs and ours, each the middle of its turns."""
        return _middle(self.theirs, load, part), _middle(self.ours, load, part)

    def parts(self) -> list[tuple[str, str]]:
        return [(load, part) for load, parts in self.ours[0].items() for part in parts]

    def growths(self) -> list[Growth]:
        found = [Growth(load, part, *self.us(load, part)) for load, part in self.parts()]
        return [each for each in found if not each.ratio <= MOST]

    @property
    def is_surely_good(self) -> bool:
        ratios = [Growth(*each, *self.us(*each)).ratio for each in self.parts()]
        return bool(ratios) and all(each <= SURELY for each in ratios)


def _middle(turns: Sequence[Microseconds], load: str, part: str) -> float:
    return median(each[load][part] for each in turns)


def reference() -> str:
    """The commit that the gate compares with. Whoever makes a payment cheaper names that version in the file."""
    return REFERENCE.read_text().split()[0]


def measure(commit: str, rounds: int, options: Sequence[str], say: Say, *, until_sure: bool = False) -> Report:
    with tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
        _extract(commit, Path(folder))

        def turn(number: int, who: str, place: Path) -> Microseconds:
            say(f"round {number} of {rounds}: {who} ...")
            return _cost(place, options)

        return take_turns(
            commit,
            rounds,
            ours=lambda number: turn(number, "this version", ROOT),
            theirs=lambda number: turn(number, commit, Path(folder)),
            until_sure=until_sure,
        )


def take_turns(commit: str, rounds: int, *, ours: Turn, theirs: Turn, until_sure: bool) -> Report:
    """`until_sure` stops after a round in which no part costs nearly too much: two noisy rounds would say no more.

    The first of two turns finds the machine colder. In the first round that is ours, which is then good in spite of it.
    """
    report = Report(commit, [], [])
    for number in range(1, rounds + 1):
        turns = [(report.ours, ours), (report.theirs, theirs)]
        for measured, take in turns if number % 2 else reversed(turns):
            measured.append(take(number))
        if until_sure and number == 1 and report.is_surely_good:
            break
    return report


def hold(measure_once: Callable[[], Report], say: Say) -> tuple[Report, list[Growth]]:
    """The last measurement, and what costs too much in every one. The first without a growth is the last."""
    report = measure_once()
    grown = report.growths()
    for _ in range(MEASUREMENTS - 1):
        if not grown:
            break
        for each in grown:
            say(f"{each} Once more, in case it was the machine ...")
        before = {(each.load, each.part) for each in grown}
        report = measure_once()
        grown = [each for each in report.growths() if (each.load, each.part) in before]
    return report, grown


def has(commit: str) -> bool:
    """Whether the history here goes so far back."""
    return not _git("cat-file", "-e", f"{commit}^{{commit}}").returncode


def _extract(commit: str, folder: Path) -> None:
    done = _git("archive", "--format=tar", commit, *_PACKAGES)
    if done.returncode:
        raise CannotMeasure(f"git cannot read the version {commit}: {done.stderr.decode().strip()}")
    subprocess.run(["tar", "--extract", "--directory", str(folder)], input=done.stdout, check=True)


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)


def _cost(place: Path, options: Sequence[str]) -> Microseconds:
    command = [sys.executable, "-m", "benchmarks", "cost", "--json", *options]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, timeout=_PATIENCE_SECONDS, check=False
    )
    if done.returncode:
        raise CannotMeasure(f"bench cost failed in {place}: {done.stderr.decode().strip()}")
    return {each["load"]: each["us"] for each in msgspec.json.decode(done.stdout)["results"]}

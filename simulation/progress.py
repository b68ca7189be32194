"""What a long run has done so far: counted, shown, and kept in a file so that a stopped run goes on where it stopped.

The file is JSON lines: first what the run is, then one line for each seed. It names the sources that it was made with.
Other sources are another run: what they found, or did not find, must not be added up with this.
"""

import hashlib
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec

from simulation.run import Result

_ROOT = Path(__file__).parents[1]
_SOURCES = ("malipo", "malipo_simulator", "simulation")
_SUFFIXES = (".py", ".sql")
_QUIET_SECONDS = 60.0  # between lines of progress, where nobody watches
_WATCHED_SECONDS = 0.3


class OtherRun(Exception):  # noqa: N818
    """The file is of a run with other sources or other options."""


class Head(msgspec.Struct, frozen=True):
    """The first line."""

    sources: str  # a hash
    commit: str  # for people; the hash decides
    first: int
    options: dict[str, str]


class SeedResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line: what came of one seed."""

    seed: int
    payments: int
    faults: list[str] = []  # the kinds that happened
    findings: list[str] = []
    without: str = ""  # the safeguard that was taken out
    sitting: int = 1
    seconds: float = 0.0  # since the sitting began
    took: float = 0.0  # seconds of this seed alone
    reached: list[str] = []  # of the safeguards that were watched
    history: str = ""  # the hash of the run: two versions that do the same have the same


class Progress:
    def __init__(self, path: Path | None, head: Head, past: list[SeedResult]) -> None:
        self.head = head
        self.outcomes = past
        self._path = path
        self._sitting = 1 + max((each.sitting for each in past), default=0)
        self._past_seconds = sum(_lengths(past).values())
        self._began = time.monotonic()
        self._said_at = 0.0

    @property
    def is_resumed(self) -> bool:
        return self._sitting > 1

    @property
    def seconds(self) -> float:
        """Of this sitting."""
        return time.monotonic() - self._began

    def of(self, without: str = "") -> list[SeedResult]:
        return [each for each in self.outcomes if each.without == without]

    def add(self, result: Result, *, without: str = "") -> SeedResult:
        outcome = SeedResult(
            seed=result.seed,
            payments=result.payments,
            faults=[fault.split()[0] for fault in result.faults],
            findings=result.findings,
            without=without,
            sitting=self._sitting,
            seconds=round(self.seconds, 1),
            took=round(result.real_seconds, 1),
            reached=result.reached,
            history=result.digest[:16],
        )
        self.outcomes.append(outcome)
        if self._path is not None:
            _append(self._path, outcome)
        return outcome

    def read_again(self) -> None:
        """What another process has added to the file."""
        assert self._path is not None
        _, *lines = self._path.read_bytes().splitlines()
        self.outcomes = [msgspec.json.decode(line, type=SeedResult) for line in lines]

    def say(self) -> None:
        """Now and then, how far it is."""
        is_terminal = sys.stderr.isatty()
        if time.monotonic() - self._said_at > (_WATCHED_SECONDS if is_terminal else _QUIET_SECONDS):
            self._said_at = time.monotonic()
            start, end = ("\r", "\033[K") if is_terminal else ("", "\n")
            print(f"{start}{self.line()}{end}", end="", file=sys.stderr, flush=True)

    def line(self) -> str:
        seconds = max(self._past_seconds + self.seconds, 0.001)
        runs = len(self.outcomes)
        payments = sum(each.payments for each in self.outcomes)
        faults = sum(len(each.faults) for each in self.outcomes)
        words = (
            f"{runs:,} seeds ({runs / seconds:.1f}/s), {payments:,} payments ({payments / seconds:.1f}/s), "
            f"{faults:,} faults ({faults / seconds:.1f}/s), {seconds:.0f} s"
        )
        return f"{words} in {self._sitting} sittings" if self.is_resumed else words

    def kinds(self) -> Counter[str]:
        return Counter(kind for each in self.outcomes for kind in each.faults)


def begin(path: Path | None, first: int, options: dict[str, str], *, is_first_given: bool) -> Progress:
    """A new run, or the one of the file. OtherRun if it is not the same."""
    head = Head(sources=_hash_of_sources(), commit=_commit(), first=first, options=options)
    if path is None or not path.exists() or not path.stat().st_size:
        if path is not None:
            _append(path, head)
        return Progress(path, head, [])
    lines = path.read_bytes().split(b"\n")
    whole, torn = lines[:-1], lines[-1]
    if torn:  # It was stopped while it wrote.
        path.write_bytes(b"".join(line + b"\n" for line in whole))
    kept = msgspec.json.decode(whole[0], type=Head)
    if kept.sources != head.sources:
        raise OtherRun(
            f"{path} is of other sources: {kept.sources} (commit {kept.commit}), and these are {head.sources} "
            f"(commit {head.commit}). Begin another file."
        )
    if kept.options != options or (is_first_given and kept.first != first):
        asked = head.options | {"seed": str(first)}
        raise OtherRun(
            f"{path} is of a run with other options: {kept.options | {'seed': str(kept.first)}}, not {asked}."
        )
    return Progress(path, kept, [msgspec.json.decode(line, type=SeedResult) for line in whole[1:]])


def _lengths(outcomes: list[SeedResult]) -> dict[int, float]:
    """How long each sitting took, as far as its last seed."""
    lengths: dict[int, float] = {}
    for each in outcomes:
        lengths[each.sitting] = max(lengths.get(each.sitting, 0.0), each.seconds)
    return lengths


def _append(path: Path, line: Head | SeedResult) -> None:
    with path.open("ab") as file:
        file.write(msgspec.json.encode(line) + b"\n")


def _hash_of_sources() -> str:
    whole = hashlib.sha256()
    for folder in _SOURCES:
        for path in sorted(_ROOT.joinpath(folder).rglob("*")):
            if path.suffix in _SUFFIXES:
                whole.update(f"{path.relative_to(_ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()[:16]


def _commit() -> str:
    command = ["git", "-C", str(_ROOT), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"

"""`scripts/flaky`: the suite several times under load, each time in an order of its own, counted over several sittings.

What depends on luck, or on what ran before, shows. A run that has ended is a line of `runs.jsonl`; a run that was
stopped is none. Only runs of the present commit count, and a changed tree counts as no commit. A run can be of several
parts, which the seed draws: a line each, so that a sitting may be short, and several machines share the runs.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_FOLDER = _ROOT / ".venv" / "flaky"
_IN_MEMORY = Path("/dev/shm")  # noqa: S108 - as ./test does
_ENOUGH_BYTES = 8_000_000 * 1024


@dataclass(frozen=True)
class Run:
    commit: str
    seed: int
    load: int  # busy processes beside it, that this script started
    seconds: int
    tests: int
    failed: list[str]
    exit_code: int
    options: list[str]  # for pytest
    part: int = 1
    parts: int = 1

    @property
    def is_green(self) -> bool:
        return self.exit_code == 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/flaky", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="how many runs of this commit there are to be in the end")
    parser.add_argument("--load", type=int, default=6, help="busy processes beside each; 0 where there is other load")
    parser.add_argument("--parts", type=int, default=1, metavar="N", help="run the files of a run in so many parts")
    parser.add_argument("--part", type=int, metavar="K", help="only this part of each run; others run elsewhere")
    parser.add_argument("--seeds", type=_numbers, default=[], metavar="S,S", help="these seeds instead of drawn ones")
    parser.add_argument("--show", action="store_true", help="only print what the runs of this commit have shown")
    parsed, options = parser.parse_known_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # and end what was started
    commit = _commit()
    _FOLDER.mkdir(parents=True, exist_ok=True)
    path = _FOLDER / "runs.jsonl"
    done = [each for each in of_commit(_lines(path), commit, options) if each.parts == parsed.parts]
    if not parsed.show:
        with _busy(parsed.load):
            for seed, part in to_do(done, parsed):
                print(f"· --order {seed} --part {part}/{parsed.parts} of {commit[:12]}", flush=True)
                run = _run(commit, seed, parsed.load, options, part, parsed.parts)
                with path.open("a") as file:
                    file.write(json.dumps(asdict(run)) + "\n")
                done.append(run)
                print(f"  {in_words(run)}", flush=True)
    print("\n".join(summary(done)))
    return 0 if done and all(each.is_green for each in done) else 1


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


def to_do(done: Sequence[Run], asked: argparse.Namespace) -> list[tuple[int, int]]:
    """Seeds and parts: first what is missing of runs that were begun."""
    seeds = asked.seeds or list(dict.fromkeys(each.seed for each in done))
    if not asked.seeds:
        seeds += [random.SystemRandom().randrange(2**24) for _ in range(asked.runs - len(seeds))]
    parts = [asked.part] if asked.part else range(1, asked.parts + 1)
    known = {(each.seed, each.part) for each in done}
    return [(seed, part) for seed in seeds for part in parts if (seed, part) not in known]


def of_commit(lines: Sequence[str], commit: str, options: list[str]) -> list[Run]:
    """Those with other options have run other tests."""
    runs = [Run(**json.loads(line)) for line in lines]
    return [each for each in runs if (each.commit, each.options) == (commit, options)]


def in_words(run: Run) -> str:
    end = "green" if run.is_green else f"{len(run.failed)} failed, exit code {run.exit_code}"
    return f"{end}: {run.tests:,} tests in {run.seconds} s"


def summary(runs: Sequence[Run]) -> Iterator[str]:
    red = [each for each in runs if not each.is_green]
    ended = Counter(each.seed for each in runs)
    whole = sum(number == runs[0].parts for number in ended.values())
    yield f"{len({each.seed for each in red})} of {len(ended)} runs were red; {whole} were whole."
    for name, count in Counter(name for each in red for name in each.failed).most_common():
        seeds = ", ".join(str(each.seed) for each in red if name in each.failed)
        yield f"  {count} × {name} (--order {seeds})"
    yield from (
        f"  --order {each.seed} --part {each.part}/{each.parts}: exit code {each.exit_code}, no test named"
        for each in red
        if not each.failed
    )
    if red:
        yield f"What each printed is in {_FOLDER.relative_to(_ROOT)}/SEED-PART.txt."


def outcome(printed: str) -> tuple[int, list[str]]:
    """How many tests have run, and which have failed: `progress.py` names each at once, and the number in the end."""
    failed: list[str] = []
    tests = 0
    for line in printed.splitlines():
        if "short test summary info" in line:
            break
        if line.startswith("FAILED ") and (name := line.removeprefix("FAILED ")) not in failed:
            failed.append(name)
        elif " tests run in " in line:
            tests = int(line.partition(" ")[0].replace(",", ""))
    return tests, failed


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def _commit() -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=True).stdout.strip()

    if git("status", "--porcelain"):
        return f"{git('rev-parse', 'HEAD')}, changed at {time.time():.0f}"  # No other sitting is about the same.
    return git("rev-parse", "HEAD")


@contextmanager
def _busy(count: int) -> Iterator[None]:
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


def _run(commit: str, seed: int, load: int, options: list[str], part: int, parts: int) -> Run:
    order = ["--order", str(seed), "--part", f"{part}/{parts}"]
    command = [sys.executable, "-m", "pytest", "--at-once", "7", *order, *options]
    printed = _FOLDER / f"{seed}-{part}.txt"
    began = time.monotonic()
    with printed.open("wb") as output, tempfile.TemporaryDirectory(prefix="malipo-tests.", dir=_memory()) as folder:
        Path(folder).chmod(0o755)  # Some tests run PostgreSQL as another user.
        environment = os.environ | {"TMPDIR": folder}
        done = subprocess.run(command, cwd=_ROOT, env=environment, stdout=output, stderr=output, check=False)
    tests, failed = outcome(printed.read_text(errors="replace"))
    return Run(
        commit, seed, load, round(time.monotonic() - began), tests, failed, done.returncode, options, part, parts
    )


def _memory() -> Path | None:
    """Where ./test keeps its databases too, if there is enough of it."""
    if not _IN_MEMORY.is_dir():
        return None
    free = os.statvfs(_IN_MEMORY)
    return _IN_MEMORY if free.f_bavail * free.f_frsize > _ENOUGH_BYTES else None


if __name__ == "__main__":
    sys.exit(main())

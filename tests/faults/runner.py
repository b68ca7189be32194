"""Runs tests on copies of the sources with one fault each, in children of a process that has imported what is slow.

Each slot has a copy of the tree and a `.venv` of its own, whose packages are links: processes that tests start import
the copy too. All slots share a PostgreSQL with a migrated template; no fault is in a migration.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import Self

from malipo import log
from malipo.db.embedded import server
from tests.conftest import SHARED_POSTGRES, make_cluster
from tests.faults.fault import Fault, place_of, with_fault
from tests.faults.results import Result

AT_ONCE = 2
# Deadlocks end by this too, and a shared machine stops a test for minutes.
_PYTEST = ("-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "tests.faults.recorder", "-o", "timeout=400")
_IGNORED = shutil.ignore_patterns(
    ".git", ".venv", ".venv.lock", "node_modules", ".mypy_cache", ".ruff_cache", ".hypothesis"
)


class Runner:
    def __init__(self, root: Path, folder: Path, *, at_once: int) -> None:
        self._root = root
        self._folder = folder
        self._at_once = at_once
        self._slots: SimpleQueue[_Slot] = SimpleQueue()
        self._opened = contextlib.ExitStack()

    def __enter__(self) -> Self:
        url = self._opened.enter_context(_postgres(self._folder))
        for number in range(self._at_once):
            slot = _Slot(self._root, self._folder / f"slot-{number}", url)
            self._opened.callback(slot.close)
            self._slots.put(slot)
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def run(self, faults: Sequence[Fault], *, stops_at_first: bool) -> Iterator[Result]:
        """As they end."""
        with ThreadPoolExecutor(self._at_once) as threads:
            tried = [threads.submit(self._try, each, stops_at_first) for each in faults]
            for each in as_completed(tried):
                yield each.result()

    def failing_without(self, tests: Sequence[str]) -> list[str]:
        """Those of these tests that fail without a fault: what they found counts for nothing."""
        if not tests:
            return []
        slot = self._slots.get()
        try:
            failed, _ = slot.run_tests(tests, stops_at_first=False)
        finally:
            self._slots.put(slot)
        return failed

    def _try(self, fault: Fault, stops_at_first: bool) -> Result:
        slot = self._slots.get()
        began = time.monotonic()
        try:
            with slot.fault(fault):
                failed, has_run = slot.run_tests(
                    [f"tests/{each}" for each in fault.tests], stops_at_first=stops_at_first
                )
        finally:
            self._slots.put(slot)
        return Result(
            fault=fault.name,
            mode="first" if stops_at_first else "all",
            outcome="found" if failed else "not found" if has_run else "broken",
            finders=failed,
            seconds=round(time.monotonic() - began, 1),
        )


class _Slot:
    """A copy of the tree, and the process that runs tests in it."""

    def __init__(self, root: Path, folder: Path, postgres_url: str) -> None:
        self._root = root
        self._tree = folder / "tree"
        self._temporary = folder / "tmp"
        self._failed = folder / "failed"
        shutil.copytree(root, self._tree, symlinks=True, ignore=_IGNORED)
        _link_packages(root / ".venv", self._tree)
        _link_node_modules(root, self._tree)
        self._temporary.mkdir()
        self._temporary.chmod(0o777)
        self._log = (folder / "output").open("ab")
        environment = os.environ | {SHARED_POSTGRES: postgres_url, "TMPDIR": str(self._temporary)}
        self._process = subprocess.Popen(
            [self._tree / ".venv/bin/python", "-m", "tests.faults.preloaded"],
            cwd=self._tree,
            env=environment | {"FAULTS_FAILED": str(self._failed)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )

    @contextlib.contextmanager
    def fault(self, fault: Fault) -> Iterator[None]:
        place = place_of(fault, self._root)
        path = self._tree / place.path.relative_to(self._root)
        kept = path.read_text(), path.stat().st_mtime_ns
        path.write_text(with_fault(fault, place))
        try:
            yield
        finally:
            path.write_text(kept[0])
            os.utime(path, ns=(kept[1], kept[1]))  # so that what was compiled of it is right again

    def run_tests(self, tests: Sequence[str], *, stops_at_first: bool) -> tuple[list[str], bool]:
        """Which failed, and whether any was run."""
        self._failed.unlink(missing_ok=True)
        arguments = [*_PYTEST, *(["-x"] if stops_at_first else []), *tests]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(arguments).encode() + b"\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline() or b"-1")
        failed = self._failed.read_text().splitlines() if self._failed.exists() else []
        for left in self._temporary.iterdir():
            shutil.rmtree(left, ignore_errors=True)
        return failed, code in (0, 1)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._log.close()


@contextlib.contextmanager
def _postgres(folder: Path) -> Iterator[str]:
    """With a migrated template, as the fixtures of tests make it."""
    log.configure(level="warning", stream=sys.stderr)
    place = folder / "postgres"
    place.mkdir()
    make_cluster(place)
    with server(place) as url:
        yield url


def _link_packages(venv: Path, tree: Path) -> None:
    """The same packages, but for the file that says where malipo is."""
    own = tree / ".venv"
    packages = Path(sysconfig.get_path("purelib")).relative_to(venv)
    (own / packages).mkdir(parents=True)
    for each in (venv / packages).iterdir():
        if each.name != "malipo-checkout.pth":
            (own / packages / each.name).symlink_to(each)
    (own / packages / "malipo-checkout.pth").write_text(f"{tree}\n")
    (own / "bin").mkdir()
    for each in (venv / "bin").iterdir():
        (own / "bin" / each.name).symlink_to(each.readlink() if each.is_symlink() else each)
    if (venv / "opponents").exists():
        (own / "opponents").symlink_to(venv / "opponents")
    shutil.copy(venv / "pyvenv.cfg", own / "pyvenv.cfg")


def _link_node_modules(root: Path, tree: Path) -> None:
    for each in (*root.glob("*/*/node_modules"), *root.glob("*/*/*/node_modules")):
        (tree / each.relative_to(root)).symlink_to(each)

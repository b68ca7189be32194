"""`./test --times`: where the time of a run goes, by file and by fixture, in a table at its end.

Each process of the run writes down what it has measured when it ends; the one that reports reads them all. The CPU of a
file is that of the test's own process, of what it has started, of what was forked for it (`fork_server.py`), and of the
PostgreSQL of its process: each process of a run has one. Collecting, and servers that have no parent here, are only in
the sum of `whole_cpu.py`. Idle is the wall time in which none of them wanted a processor, on a busy machine too: it shows
what more files side by side would fill, and which tests wait long.
"""

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests import fork_server

_SHOWN = 40
_KINDS = ("tests", "started", "forked", "database")
_LOOK_SECONDS = 0.2
_WANTS_CPU = frozenset("RD")
_postgres: list[int] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", action="store_true", help="print where the time went, by file and by fixture")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--times"):
        config.pluginmanager.register(_Times(config))


def look_at_postgres(data: Path) -> None:
    """The server of this process's tests."""
    _postgres[:] = [int((data / "postmaster.pid").read_text().split()[0])]


class _Times:
    def __init__(self, config: pytest.Config) -> None:
        self._root = config.rootpath
        self._folder = self._root / ".venv" / "times"
        for path in self._files():
            path.unlink()
        self._measured: dict[str, Counter[str]] = {"number": Counter(), "wall": Counter(), "idle": Counter()}
        self._measured |= {"fixtures": Counter(), "fixture wall": Counter()}
        self._measured |= {kind: Counter() for kind in _KINDS}
        self._inside = 0.0  # of the fixture that is being set up: what those that it needs took
        self._used: dict[str, float] | None = None  # when the file began
        self._file = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        file, wall = str(item.path.relative_to(self._root)), time.monotonic()
        if self._used is None:
            threading.Thread(target=self._look, name="times", daemon=True).start()
        before, self._file = self._used or _used(), file
        result = yield
        self._measured["number"][file] += 1
        self._measured["wall"][file] += time.monotonic() - wall  # type: ignore[assignment]
        if nextitem is not None:
            self._used = before if nextitem.path == item.path else _used()
        assert self._used is not None
        for kind, seconds in self._used.items():
            self._measured[kind][file] += seconds - before[kind]  # type: ignore[assignment]
        return result

    def _look(self) -> None:
        this = threading.get_native_id()
        while True:
            time.sleep(_LOOK_SECONDS)
            forking = fork_server.pid()
            trees = (os.getpid(), *_postgres, *([] if forking is None else [forking]))
            if not any(_wants_cpu(each, this) for each in trees):
                self._measured["idle"][self._file] += _LOOK_SECONDS  # type: ignore[assignment]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        if nextitem is None:
            self._used = _used()  # Servers end now, and what they have used cannot be read any more.
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        outside, self._inside, began = self._inside, 0.0, time.monotonic()
        try:
            return (yield)
        finally:
            took = time.monotonic() - began
            self._measured["fixtures"][fixturedef.argname] += 1
            self._measured["fixture wall"][fixturedef.argname] += took - self._inside  # type: ignore[assignment]
            self._inside = outside + took

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / f"{os.getpid()}.json").write_text(json.dumps(self._measured))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        whole: dict[str, Counter[str]] = {name: Counter() for name in self._measured}
        for path in self._files():
            for name, counted in json.loads(path.read_text()).items():
                whole[name].update(counted)
        cpu: Counter[str] = Counter()
        for kind in _KINDS:
            cpu.update(whole[kind])
        terminalreporter.section("where the time went")
        self._say_files(terminalreporter.write_line, whole, cpu)
        write = terminalreporter.write_line
        write("")
        write(f"{'wall s':>8} {'set up':>8}  fixture")
        for name, seconds in whole["fixture wall"].most_common(_SHOWN // 2):
            write(f"{seconds:8.1f} {whole['fixtures'][name]:8}  {name}")

    def _say_files(self, write: Any, whole: dict[str, Counter[str]], cpu: Counter[str]) -> None:
        write(
            f"{'CPU s':>8} {''.join(f'{kind:>9}' for kind in _KINDS)} {'wall s':>8} {'idle s':>8} {'number':>6}  file"
        )
        longest = [file for file, _ in whole["wall"].most_common(_SHOWN // 2)]
        dearest = [file for file, _ in cpu.most_common(_SHOWN)]
        for file in dict.fromkeys([*dearest, *longest]):
            kinds = "".join(f"{whole[kind][file]:9.1f}" for kind in _KINDS)
            write(
                f"{cpu[file]:8.1f} {kinds} {whole['wall'][file]:8.1f} {whole['idle'][file]:8.1f} {whole['number'][file]:6}  {file}"
            )
        kinds = "".join(f"{sum(whole[kind].values()):9.1f}" for kind in _KINDS)
        write(
            f"{sum(cpu.values()):8.1f} {kinds} {sum(whole['wall'].values()):8.1f} {sum(whole['idle'].values()):8.1f} "
            f"{sum(whole['number'].values()):6}  "
            f"in all {len(whole['wall'])} files, added up over all processes"
        )

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.json"))


def _used() -> dict[str, float]:
    """Seconds of a processor until now."""
    forking = fork_server.pid()
    forked = 0.0 if forking is None else _of_tree(forking, without=())
    own = sum(os.times()[:2])
    return {
        "tests": own,
        "started": _of_tree(os.getpid(), without=() if forking is None else (forking,)) - own,
        "forked": forked,
        "database": sum(_of_tree(each, without=()) for each in _postgres),
    }


def _of_tree(pid: int, *, without: tuple[int, ...]) -> float:
    """Of a process, of its children that have ended, and of those that run. Linux knows."""
    if pid in without:
        return 0.0
    folder, ticks = Path(f"/proc/{pid}"), 0
    with suppress(OSError):
        ticks = sum(int(each) for each in (folder / "stat").read_text().rpartition(")")[2].split()[11:15])
    children: list[str] = []
    with suppress(OSError):
        for thread in (folder / "task").iterdir():
            children += (thread / "children").read_text().split()
    return ticks / os.sysconf("SC_CLK_TCK") + sum(_of_tree(int(each), without=without) for each in children)


def _wants_cpu(pid: int, this: int) -> bool:
    """Whether a thread of this process, or of one that it has started, runs or waits for a processor or the disk."""
    children: list[str] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            if thread.name != str(this) and (thread / "stat").read_text().rpartition(")")[2].split()[0] in _WANTS_CPU:
                return True
            children += (thread / "children").read_text().split()
    return any(_wants_cpu(int(each), this) for each in children)

"""`./test --times`: where the time of a run goes, by file and by fixture, in a table at its end.

Each process of the run writes down what it has measured when it ends; the one that reports reads them all. The CPU of a
file is that of the test's own process and of the children that ended meanwhile: not that of PostgreSQL, nor of servers
that several files share. `whole_cpu.py` counts everything.
"""

import json
import os
import resource
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_SHOWN = 40


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", action="store_true", help="print where the time went, by file and by fixture")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--times"):
        config.pluginmanager.register(_Times(config))


class _Times:
    def __init__(self, config: pytest.Config) -> None:
        self._root = config.rootpath
        self._folder = self._root / ".venv" / "times"
        for path in self._files():
            path.unlink()
        self._measured: dict[str, Counter[str]] = {"tests": Counter(), "wall": Counter(), "cpu": Counter()}
        self._measured |= {"fixtures": Counter(), "fixture wall": Counter()}
        self._inside = 0.0  # of the fixture that is being set up: what those that it needs took

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        file, wall, cpu = str(item.path.relative_to(self._root)), time.monotonic(), _cpu()
        result = yield
        self._measured["tests"][file] += 1
        self._measured["wall"][file] += time.monotonic() - wall  # type: ignore[assignment]
        self._measured["cpu"][file] += _cpu() - cpu  # type: ignore[assignment]
        return result

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
        write = terminalreporter.write_line
        terminalreporter.section("where the time went")
        write(f"{'wall s':>8} {'CPU s':>8} {'tests':>6}  file")
        for file, seconds in whole["wall"].most_common(_SHOWN):
            write(f"{seconds:8.1f} {whole['cpu'][file]:8.1f} {whole['tests'][file]:6}  {file}")
        write(
            f"{sum(whole['wall'].values()):8.1f} {sum(whole['cpu'].values()):8.1f} {sum(whole['tests'].values()):6}  "
            f"in all {len(whole['wall'])} files, added up over all processes"
        )
        write("")
        write(f"{'wall s':>8} {'set up':>8}  fixture")
        for name, seconds in whole["fixture wall"].most_common(_SHOWN // 2):
            write(f"{seconds:8.1f} {whole['fixtures'][name]:8}  {name}")

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.json"))


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)

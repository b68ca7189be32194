"""What a run of the suite prints: a line now and then that says how far it is, and one in the end that says what ran.

A dot for each of many thousand tests says nothing. What fails is named at once.
"""

import time
from typing import Any

import pytest

_EVERY_SECONDS = 15.0
_SLOWEST = 10


def pytest_configure(config: pytest.Config) -> None:
    if config.get_verbosity() < 0:
        config.pluginmanager.register(_Progress(config), "tests.progress")


class _Progress:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._began = self._said_at = time.monotonic()
        self._total = self._done = self._left_out = 0
        self._seconds: dict[str, float] = {}  # by file

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._left_out += len(items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._total = len(session.items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        if report.passed and report.when == "call":
            return "passed", "", ""
        if report.failed:  # `pytest_runtest_logreport` names it.
            return ("failed", "", "FAILED") if report.when == "call" else ("error", "", "ERROR")
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file = report.nodeid.partition("::")[0]
        self._seconds[file] = self._seconds.get(file, 0.0) + report.duration
        self._done += report.when == "call"
        if report.failed:
            self._say(f"FAILED {report.nodeid}")
        now = time.monotonic()
        if now - self._said_at >= _EVERY_SECONDS:
            self._said_at = now
            share = self._done / max(self._total, 1)
            self._say(f"  {self._done:,} of {self._total:,} ({share:.0%}) after {_minutes(now - self._began)}")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._done >= 1000:
            terminalreporter.section("the files that took longest")
            for file in sorted(self._seconds, key=self._seconds.__getitem__, reverse=True)[:_SLOWEST]:
                terminalreporter.write_line(f"{self._seconds[file]:8.1f} s  {file}")
        took = _minutes(time.monotonic() - self._began)
        left_out = f"; {self._left_out:,} were left out (slow, or not chosen)" if self._left_out else ""
        terminalreporter.write_line(f"{self._done:,} tests run in {took}{left_out}")

    def _say(self, line: str) -> None:
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        reporter.ensure_newline()
        reporter.write_line(line)
        reporter.flush()


def _minutes(seconds: float) -> str:
    whole, rest = divmod(round(seconds), 60)
    return f"{whole} min {rest} s" if whole else f"{rest} s"

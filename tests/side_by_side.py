"""`--at-once N`: runs the files of tests side by side, in N children of the process that has collected them.

Collecting the suite takes twenty seconds of a processor, so it is done once. A child runs the tests of one file after another, and sends the reports; this process hands out the files, in
the order of `order.py`, and reports as pytest does without this option.
"""

import atexit
import contextlib
import gc
import multiprocessing.connection
import os
import random
import signal
import threading
import traceback
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest
from _pytest.capture import FDCapture

from tests import fork_server
from tests.order import files_of

_MANY = 1000  # tests: so many start processes of malipo
# These report, or remember, what happened: the parent does.
_OF_THE_PARENT = (
    "terminalreporter",
    "lfplugin",
    "nfplugin",
    "stepwiseplugin",
    "junitxml",
    "pastebin",
    "tests.progress",
)
BASE = pytest.StashKey[Path]()  # the folder that the children of a run share
_SHORT_SECONDS = 0.05
# As a serving process collects cycles (`malipo/process_tuning.py`): as often as Python does by default, it took every
# twenty-fifth second of the tests.
_RARELY = (50_000, 20, 50)
_NEXT, _START, _PASSED, _REPORT, _DONE = "next", "start", "passed", "report", "done"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--at-once", type=int, default=0, metavar="N", help="run so many files of tests side by side")


def pytest_configure(config: pytest.Config) -> None:
    at_once: int = config.getoption("--at-once")
    if at_once:
        gc.disable()  # Nearly all that is made while tests are collected stays. It is switched on before any of them runs.
        config.pluginmanager.register(SideBySide(at_once))


Files = list[list[pytest.Item]]  # or folders


class SideBySide:
    def __init__(self, at_once: int) -> None:
        self._at_once = at_once

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.config.option.collectonly or (
            session.testsfailed and not session.config.option.continue_on_collection_errors
        ):
            return None
        files = files_of(session.items)
        base = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        at_once = min(self._at_once, len(files))
        if len(session.items) > _MANY:
            fork_server.start_for(at_once)
        assert threading.active_count() == 1, "a thread would not be forked"
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_RARELY)
        gc.enable()
        children = _Children(session, files)
        try:
            for number in range(at_once):
                children.bear(number, base)
            fork_server.leave()
            children.look_after()
        finally:
            children.end()
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        if not session.testsfailed:
            children.assert_all_were_run()
        return True


class _Children:
    """The side of the process that has collected."""

    def __init__(self, session: pytest.Session, files: Files) -> None:
        self._session = session
        self._files = files
        self._left = iter(range(len(files)))
        self._pids: dict[Connection, int] = {}
        self._running: dict[Connection, str] = {}  # the test that a child runs
        self._begun: set[str] = set()

    def bear(self, number: int, base: Path) -> None:
        ours, theirs = multiprocessing.connection.Pipe()
        pid = os.fork()
        if pid == 0:
            for each in (ours, *self._pids):
                each.close()
            _be_a_child(self._session, self._files, theirs, number, base)
        theirs.close()
        self._pids[ours] = pid

    def look_after(self) -> None:
        waiting = set(self._pids)
        while waiting:
            for line in multiprocessing.connection.wait(waiting):
                assert isinstance(line, Connection)
                try:
                    kind, content = line.recv()
                except (EOFError, ConnectionResetError):
                    self._say_died(line)
                    kind, content = _DONE, None
                if kind == _DONE:
                    waiting.discard(line)
                else:
                    self._heard(line, kind, content)

    def _heard(self, line: Connection, kind: str, content: Any) -> None:
        hook = self._session.config.hook
        if kind == _NEXT:
            is_over = self._session.shouldfail or self._session.shouldstop
            self._tell(line, None if is_over else next(self._left, None))
        elif kind == _START:
            self._running[line] = content[0]
            self._begun.add(content[0])
            hook.pytest_runtest_logstart(nodeid=content[0], location=content[1])
        elif kind in (_PASSED, _REPORT):
            whole = hook.pytest_report_from_serializable
            report = _passed(*content) if kind == _PASSED else whole(config=self._session.config, data=content)
            hook.pytest_runtest_logreport(report=report)
            if self._session.shouldfail:
                for each in self._pids:
                    self._tell(each, None)

    def _tell(self, line: Connection, what: int | None) -> None:
        with contextlib.suppress(OSError):  # It has ended.
            line.send(what)

    def _say_died(self, line: Connection) -> None:
        """A child died, and the test that it ran has failed; the rest of its file was not run."""
        name = self._running.get(line, "before its first test")
        report = pytest.TestReport(
            nodeid=name,
            location=(name.partition("::")[0], None, name),
            keywords={},
            outcome="failed",
            longrepr=f"The process that ran {name} died. The tests of its file after this one were not run.",
            when="call",
        )
        self._session.config.hook.pytest_runtest_logreport(report=report)

    def assert_all_were_run(self) -> None:
        left = [item.nodeid for item in self._session.items if item.nodeid not in self._begun]
        assert not left, f"{len(left)} tests were not run, among them {left[0]}"

    def end(self) -> None:
        for line, pid in self._pids.items():
            line.close()
            os.waitpid(pid, 0)


def _passed(nodeid: str, location: tuple[str, int | None, str], seconds: float) -> pytest.TestReport:
    """The report of a test that has passed and has printed nothing."""
    return pytest.TestReport(
        nodeid=nodeid,
        location=location,
        keywords={},
        outcome="passed",
        longrepr=None,
        when="call",
        duration=seconds,
    )


# The other side.


def _be_a_child(session: pytest.Session, files: Files, line: Connection, number: int, base: Path) -> None:
    code = 1
    try:
        config: Any = session.config
        random.seed()
        # A run in the background ignores it, and what the tests start would too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _capture_apart(config)
        for name in _OF_THE_PARENT:
            config.pluginmanager.unregister(name=name)
        config.stash[BASE] = base
        config.option.basetemp = base / f"child-{number}"
        config._tmp_path_factory = type(config._tmp_path_factory).from_config(config, _ispytest=True)
        fork_server.take(number)
        config.pluginmanager.register(_Sender(config, line))
        _run(session, files, line)
        session._setupstate.teardown_exact(None)  # of what was left when the parent had enough
        config.hook.pytest_sessionfinish(session=session, exitstatus=int(session.testsfailed > 0))
        atexit._run_exitfuncs()
        line.send((_DONE, None))
        code = 0
    except (BrokenPipeError, ConnectionResetError, EOFError):
        pass  # The parent has ended.
    except KeyboardInterrupt:
        session._setupstate.teardown_exact(None)
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _capture_apart(config: Any) -> None:
    """Each child captures output in files of its own, behind the streams that are known already."""
    capturing = config.pluginmanager.get_plugin("capturemanager")._global_capturing
    for each in (capturing.out, capturing.err):
        if isinstance(each, FDCapture):
            with TemporaryFile(buffering=0) as fresh:
                os.dup2(fresh.fileno(), each.tmpfile.fileno())


def _run(session: pytest.Session, files: Files, line: Connection) -> None:
    for item, following in _turns(files, line):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def _turns(files: Files, line: Connection) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Each test, and the one after it. The next file is asked for when the last test of a file begins."""
    file = _next_file(files, line)
    while file:
        following: list[pytest.Item] = []
        for place, item in enumerate(file):
            if line.poll():
                return  # The parent hands out nothing unasked: it has had enough.
            if place + 1 < len(file):
                yield item, file[place + 1]
            else:
                following = _next_file(files, line)
                yield item, following[0] if following else None
        file = following


def _next_file(files: Files, line: Connection) -> list[pytest.Item]:
    line.send((_NEXT, None))
    place = line.recv()
    return [] if place is None else files[place]


class _Sender:
    def __init__(self, config: pytest.Config, line: Connection) -> None:
        self._config = config
        self._line = line

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._line.send((_START, (nodeid, location)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.passed and report.when != "call" and report.duration < _SHORT_SECONDS:
            return  # It says nothing, and there are two for each test.
        if report.passed and report.when == "call" and not report.sections and not report.user_properties:
            self._line.send((_PASSED, (report.nodeid, report.location, report.duration)))  # Nearly all are such.
            return
        self._line.send((_REPORT, self._config.hook.pytest_report_to_serializable(config=self._config, report=report)))

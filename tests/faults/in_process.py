"""Tries faults without a copy of the sources: each in a fork of one process that has collected their tests.

It costs a tenth of a run on a copy. It sees no process that a test starts, so those tests are left out, and those that
need a database too, unless there is one. What nothing finds here is tried on a copy.
"""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.conftest import SHARED_POSTGRES
from tests.faults.fault import SERVICE, Fault, place_of, with_fault
from tests.faults.mutants import CannotApply, apply

_MOST_SECONDS = 600
_CANNOT = 4
_STARTING = {"start", "api"}  # fixtures that start processes


Say = Callable[[Fault, str, str], None]  # the outcome, and the test that found it


class InProcess:
    """A plugin of pytest: runs the tests of each fault until one fails, each fault in a fork."""

    def __init__(self, faults: Sequence[Fault], root: Path, *, say: Say) -> None:
        self._faults = faults
        self._root = root
        self._say = say
        self._left_out = _STARTING if SHARED_POSTGRES in os.environ else _STARTING | {"postgres"}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [each for each in items if not self._left_out & set(getattr(each, "fixturenames", ()))]
        items.sort(key=lambda each: hasattr(getattr(each, "obj", None), "hypothesis"))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for fault in self._faults:
            self._say(fault, *self._try(session, fault))
        return True

    def _try(self, session: pytest.Session, fault: Fault) -> tuple[str, str]:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            try:
                signal.alarm(_MOST_SECONDS)
                place = place_of(fault, self._root)
                apply({"path": str(place.path.relative_to(self._root)), "source": with_fault(fault, place)})
                for item, following in _pairs(_items_of(session, fault)):
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                    if session.testsfailed:
                        os.write(writing, item.nodeid.encode())
                        break
                code = 0
            except CannotApply:
                code = _CANNOT
            finally:
                os._exit(code)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            finder = pipe.read()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code == 0:
            return ("found" if finder else "not found"), finder
        return ("not run" if code == _CANNOT else "broken"), finder


def try_in_process(faults: Sequence[Fault], root: Path, *, say: Say) -> None:
    chosen = [each for each in faults if each.package == SERVICE]
    tests = dict.fromkeys(f"tests/{each}" for fault in chosen for each in fault.tests)
    quiet = ("-q", "--no-header", "--no-summary", "--assert=plain", "-p", "no:cacheprovider", "-o", "timeout=400")
    pytest.main([*quiet, *tests], plugins=[InProcess(chosen, root, say=say)])


def _items_of(session: pytest.Session, fault: Fault) -> list[pytest.Item]:
    """In the order in which the fault names its tests."""
    found = []
    for each in fault.tests:
        path = f"tests/{each}"
        found += [item for item in session.items if item.nodeid.startswith((f"{path}::", f"{path}/"))]
    return found


def _pairs(items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    return iter(zip(items, [*items[1:], None], strict=True)) if items else iter(())

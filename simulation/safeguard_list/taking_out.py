"""How a safeguard is taken out of the service: its text in a function, or in an SQL constant, is replaced.

The text must stand there exactly once, so that the list of safeguards cannot go stale in silence.

A function can also be watched: a run that never reaches what would be taken out is the same run without it, and need
not be made again.
"""

import __future__

import ast
import builtins
import hashlib
import inspect
import textwrap
from collections.abc import Callable, Collection
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

# What functions look like that were changed before: their files do not say it.
_changed: dict[FunctionType, str] = {}

reached: set[str] = set()  # of the watched changes, in this process
_REACH = "_simulation_reach"  # among the builtins, so that every module of the service finds it


def _reach(mark: str, condition: Any = True) -> Any:
    if condition:
        reached.add(mark)
    return condition


@dataclass(frozen=True)
class InFunction:
    """Changes the code of a function, which stays the same object: whoever has imported it gets the changed one."""

    function: Callable[..., Any]
    text: str
    instead: str

    def __call__(self) -> None:
        _compile(_checked(self.function), self._replaced(self.instead))

    @property
    def mark(self) -> str:
        whole = f"{self.function.__module__}.{self.function.__qualname__}: {self.text}"
        return hashlib.sha256(whole.encode()).hexdigest()[:12]

    def watch(self) -> None:
        """Note in `reached` when a run comes to where the change would matter: a condition that would be gone and is
        true, or else any call of the function."""
        setattr(builtins, _REACH, _reach)
        call = f"{_REACH}({self.mark!r}"
        if self.instead.endswith("if False:") and self.text.endswith(":"):
            head, _, condition = self.text.partition("if ")
            _compile(_checked(self.function), self._replaced(f"{head}if {call}, {condition[:-1]}):"))
        else:
            _compile(_checked(self.function), _with_first_statement(_source_of(_checked(self.function)), f"{call})"))

    def _replaced(self, instead: str) -> str:
        source = _source_of(_checked(self.function))
        assert source.count(self.text) == 1, f"not there exactly once: {self.text!r} in {self.function.__qualname__}"
        return source.replace(self.text, instead)


def _checked(function: object) -> FunctionType:
    assert isinstance(function, FunctionType), f"not a function: {function}"
    return function


def _source_of(function: FunctionType) -> str:
    return _changed.get(function) or textwrap.dedent(inspect.getsource(function))


def _with_first_statement(source: str, statement: str) -> str:
    [definition] = ast.parse(source).body
    assert isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef)
    first, lines = definition.body[0], source.splitlines(keepends=True)
    lines.insert(first.lineno - 1, " " * first.col_offset + statement + "\n")
    return "".join(lines)


def _compile(function: FunctionType, source: str) -> None:
    _changed[function] = source
    code = compile(
        source,
        inspect.getfile(function),
        "exec",
        flags=__future__.annotations.compiler_flag,
        dont_inherit=True,
    )
    made: dict[str, Any] = {}
    exec(code, function.__globals__, made)  # noqa: S102
    changed = made[function.__name__]
    function.__code__ = inspect.unwrap(getattr(changed, "fget", None) or changed).__code__


@dataclass(frozen=True)
class InConstant:
    """Changes an SQL text of a module."""

    module: ModuleType
    name: str
    text: str
    instead: str

    def __call__(self) -> None:
        whole = getattr(self.module, self.name)
        assert whole.count(self.text) == 1, f"not there exactly once: {self.text!r} in {self.name}"
        setattr(self.module, self.name, whole.replace(self.text, self.instead))


@dataclass(frozen=True)
class InTable:
    """Adds an entry to a table of what is allowed, or changes one."""

    table: dict[Any, Any]
    key: Any
    value: Any

    def __call__(self) -> None:
        assert self.table.get(self.key) != self.value, f"it is already so: {self.key}"
        self.table[self.key] = self.value


Change = InFunction | InConstant | InTable


@dataclass(frozen=True)
class Safeguard:
    name: str
    words: str  # what it protects
    changes: tuple[Change, ...]
    sql: tuple[str, ...] = ()  # what takes it out of the database
    note: str = ""  # why no seed notices, where none does

    def take_out(self) -> None:
        """From this process. What is in the database is taken out of the template."""
        for change in self.changes:
            change()

    def is_reached(self, marks: Collection[str]) -> bool:
        """Whether a run may go otherwise without it; `marks` is what the run with it has reached. What is in SQL may
        always matter."""
        if self.sql or not all(isinstance(change, InFunction) for change in self.changes):
            return True
        return any(isinstance(change, InFunction) and change.mark in marks for change in self.changes)

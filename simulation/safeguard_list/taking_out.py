"""How a safeguard is taken out of the service: its text in a function, or in an SQL constant, is replaced.

The text must stand there exactly once, so that the list of safeguards cannot go stale in silence.
"""

import __future__

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

# What functions look like that were changed before: their files do not say it.
_changed: dict[FunctionType, str] = {}


@dataclass(frozen=True)
class InFunction:
    """Changes the code of a function, which stays the same object: whoever has imported it gets the changed one."""

    function: Callable[..., Any]
    text: str
    instead: str

    def __call__(self) -> None:
        function = self.function
        assert isinstance(function, FunctionType), f"not a function: {function}"
        source = _changed.get(function) or textwrap.dedent(inspect.getsource(function))
        assert source.count(self.text) == 1, f"not there exactly once: {self.text!r} in {function.__qualname__}"
        _changed[function] = source.replace(self.text, self.instead)
        code = compile(
            _changed[function],
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

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

reached: set[str] = set()  # of the watched changes, in this process; and the constraints that the server named
# Among the builtins, so that every module of the service finds them.
_REACH = "_simulation_reach"
_COMPARE = "_simulation_compare"


def _reach(mark: str, condition: Any = True) -> Any:
    if condition:
        reached.add(mark)
    return condition


def _compare(mark: str, value: Any, find_instead: Callable[[], Any]) -> Any:
    """The value that the service has. It is noted if it would be another one, or none; of two lists, which it is."""
    try:
        instead = find_instead()
    except Exception:
        reached.add(mark)
        return value
    is_same = value is instead or (value == instead and not isinstance(value, list))
    _reach(mark, not is_same)
    return value


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
        whole = f"{self.function.__module__}.{self.function.__qualname__}: {self.text}: {self.instead}"
        return hashlib.sha256(whole.encode()).hexdigest()[:12]

    def watch(self) -> None:
        """Note in `reached` when a run comes to where the change would matter: a condition that would be gone and is
        true, a value that would be another one, or else any call of the function."""
        setattr(builtins, _REACH, _reach)
        setattr(builtins, _COMPARE, _compare)
        call = f"{_REACH}({self.mark!r}"
        if self.instead.endswith("if False:") and self.text.endswith(":"):
            head, _, condition = self.text.partition("if ")
            watched = self._replaced(f"{head}if {call}, {condition[:-1]}):")
        elif (compared := self._compared()) is not None:
            watched = compared
        else:
            watched = _with_first_statement(_source_of(_checked(self.function)), f"{call})")
        _compile(_checked(self.function), watched)

    def _compared(self) -> str | None:
        """The function with both values where one was, if the change is one of a value in Python. In a text, such as an
        SQL statement, it is not; and what is awaited would be done twice."""
        values = _values_of(self.text, self.instead)
        if values is None:
            return None
        head, value, instead, tail = values
        call = f"{_COMPARE}({self.mark!r}, {value}, lambda: {instead})"
        source = self._replaced(f"{head}{call}{tail}")
        calls = (ast.unparse(each) for each in ast.walk(ast.parse(source)) if isinstance(each, ast.Call))
        return source if any(each.startswith(f"{_COMPARE}({self.mark!r}") for each in calls) else None

    def _replaced(self, instead: str) -> str:
        source = _source_of(_checked(self.function))
        assert source.count(self.text) == 1, f"not there exactly once: {self.text!r} in {self.function.__qualname__}"
        return source.replace(self.text, instead)


def _values_of(text: str, instead: str) -> tuple[str, str, str, str] | None:
    """Two values, with what stands before and after both: of `x = 1` and `x = 2`, of `return 1` and `return 2`, of
    `if a:` and `if b:`, or just `1` and `2`."""
    if all(each.startswith("if ") and each.endswith(":") and "\n" not in each for each in (text, instead)):
        values = _values_of(f"bool({text[3:-1]})", f"bool({instead[3:-1]})")
        return values and ("if ", values[1], values[2], ":")
    try:
        before, after = (ast.parse(each.replace("return ", "_return = ", 1)) for each in (text, instead))
    except SyntaxError:
        return None
    if any(isinstance(each, ast.Await | ast.NamedExpr) for both in (before, after) for each in ast.walk(both)):
        return None
    match before.body, after.body:
        case [[ast.Expr(value)], [ast.Expr(other)]]:
            return "", ast.unparse(value), ast.unparse(other), ""
        case [[ast.Assign([target], value)], [ast.Assign([same], other)]] if ast.dump(target) == ast.dump(same):
            name = ast.unparse(target)
            return "return " if name == "_return" else f"{name} = ", ast.unparse(value), ast.unparse(other), ""
    return None


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
    checks: tuple[str, ...] = ()  # the constraints of `sql`, if all that they do is to refuse a row

    def take_out(self) -> None:
        """From this process. What is in the database is taken out of the template."""
        for change in self.changes:
            change()

    def is_reached(self, marks: Collection[str]) -> bool:
        """Whether a run may go otherwise without it; `marks` is what the run with it has reached. What is in SQL may
        always matter, but for constraints that the server never named."""
        if (self.sql and not self.checks) or not all(isinstance(change, InFunction) for change in self.changes):
            return True
        of_changes = (change.mark for change in self.changes if isinstance(change, InFunction))
        return any(mark in marks for mark in (*of_changes, *self.checks))

"""A fault: one change of the sources, what would go wrong with it, and the tests that are tried. Pure but for reading.

It is anchored by the name of a definition and by a text in it, and found by searching the package: a file that moves
keeps its faults, and a definition that changes loses them aloud (`test_anchors.py`).
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SERVICE = "malipo"
SIMULATOR = "malipo_simulator"
PYTHON_CLIENT = "clients/python/src/malipo_client"
TYPESCRIPT_CLIENT = "clients/typescript/src"
PHP_CLIENT = "clients/php"
_ENDINGS = {SERVICE: ".py", SIMULATOR: ".py", PYTHON_CLIENT: ".py", TYPESCRIPT_CLIENT: ".ts", PHP_CLIENT: ".php"}


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    within: str  # a function, a method (`Class.method`), a class or a constant of a module
    text: str
    instead: str
    harm: str  # what would go wrong, in a sentence
    tests: Sequence[str]  # below `tests/`, the cheapest first
    package: str = SERVICE


@dataclass(frozen=True, slots=True)
class Place:
    """Where the text of a fault begins."""

    path: Path
    start: int


class NotFoundOnce(Exception):  # noqa: N818
    """The text of a fault stands nowhere, or more than once, in definitions of its name."""


@cache
def place_of(fault: Fault, root: Path) -> Place:
    found = list(_places(fault, root))
    if len(found) != 1:
        where = ", ".join(str(each.path) for each in found) or "nowhere"
        raise NotFoundOnce(f"{fault.name}: {fault.text!r} must stand once in {fault.within!r}; it stands in {where}")
    return found[0]


def with_fault(fault: Fault, place: Place) -> str:
    """The text of the file with the fault in it."""
    source = place.path.read_text()
    return source[: place.start] + fault.instead + source[place.start + len(fault.text) :]


def definition_around(fault: Fault, place: Place) -> tuple[int, int]:
    """Where the definition begins and ends that has the text of the fault."""
    around = _definitions(place.path, place.path.read_text(), fault.within)
    return next((first, last) for first, last in around if first <= place.start < last)


def _places(fault: Fault, root: Path) -> Iterator[Place]:
    for path, source in _sources(root / fault.package, _ENDINGS[fault.package]):
        if fault.text not in source:
            continue
        for first, last in _definitions(path, source, fault.within):
            for match in re.finditer(re.escape(fault.text), source[first:last]):
                yield Place(path, first + match.start())


@cache
def _sources(folder: Path, ending: str) -> list[tuple[Path, str]]:
    return [(path, path.read_text()) for path in sorted(folder.rglob(f"*{ending}"))]


def _definitions(path: Path, source: str, name: str) -> list[tuple[int, int]]:
    """Where the definitions of a name begin and end. Functions of other languages are told by the word before them."""
    if path.suffix != ".py":
        begins = [each.start() for each in re.finditer(r"\bfunction \w+", source)]
        named = [each.start() for each in re.finditer(rf"\bfunction {re.escape(name)}\b", source)]
        return [(first, min((each for each in begins if each > first), default=len(source))) for first in named]
    return _python_definitions(source).get(name, [])


@cache
def _python_definitions(source: str) -> dict[str, list[tuple[int, int]]]:
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: dict[str, list[tuple[int, int]]] = {}
    for name, node in _named(ast.parse(source), ""):
        assert node.end_lineno is not None
        found.setdefault(name, []).append((starts[node.lineno - 1], starts[node.end_lineno]))
    return found


def _named(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.stmt]]:
    """Functions, classes and assigned names, each with the names of the classes and functions around it."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield f"{prefix}{child.name}", child
                yield from _named(child, f"{prefix}{child.name}.")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield f"{prefix}{name}", child

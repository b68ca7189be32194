"""An environment file, read as systemd reads `EnvironmentFile=`: quotes, backslashes and comments, and nothing else.

A shell would take `&`, `;`, `$` and spaces in a value for itself. Here they are characters of the value.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPACE = " \t\n\r"
_NEWLINE = "\n\r"


@dataclass
class EnvironmentFile:
    variables: dict[str, str] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)  # names that no variable can have, as `export MALIPO_PORT`


def parse(text: str) -> EnvironmentFile:
    """The later of two lines with one name counts."""
    found = EnvironmentFile()
    rest = _Characters(text)
    while (name := _name(rest)) is not None:
        value = _value(rest)
        if not _NAME.fullmatch(name):
            found.ignored.append(name)
        else:
            found.variables[name] = value
    return found


class _Characters:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def take(self) -> str:
        """The next one; an empty string at the end."""
        taken = self._text[self._at : self._at + 1]
        self._at += 1
        return taken

    def take_while(self, is_wanted: Callable[[str], bool]) -> str:
        begin = self._at
        while self._at < len(self._text) and is_wanted(self._text[self._at]):
            self._at += 1
        return self._text[begin : self._at]


def _name(rest: _Characters) -> str | None:
    """What stands before the next `=`. A line without one is no assignment."""
    while True:
        rest.take_while(lambda each: each in _SPACE)
        name = rest.take() + rest.take_while(lambda each: each not in "=\n\r")
        end = rest.take()
        if name.startswith(("#", ";")):
            if end == "=":
                rest.take_while(lambda each: each not in _NEWLINE)
        elif end == "=":
            return name.rstrip(_SPACE)
        elif end == "":
            return None


def _value(rest: _Characters) -> str:
    """A value, up to the end of its line, without the spaces around it. Quotes count only where no character stands
    before them."""
    value = ""
    while True:
        rest.take_while(lambda each: each in " \t")
        match rest.take():
            case "" | "\n" | "\r":
                return value
            case "'":
                value += rest.take_while(lambda each: each != "'")
                rest.take()
            case '"':
                value += _double_quoted(rest)
            case first:
                return value + _unquoted(first, rest)


def _double_quoted(rest: _Characters) -> str:
    value = ""
    while (each := rest.take()) not in ('"', ""):
        if each != "\\":
            value += each
        elif (escaped := rest.take()) in ("\\", '"', "$", "`"):
            value += escaped
        elif escaped not in ("\n", ""):  # A line that continues in the next one.
            value += "\\" + escaped
    return value


def _unquoted(first: str, rest: _Characters) -> str:
    value, kept = "", 0  # Up to here spaces belong to the value.
    each = first
    while each and each not in _NEWLINE:
        if each == "\\":
            each = rest.take()
            value += each if each not in _NEWLINE else ""
            kept = len(value)
        else:
            value += each
            if each not in _SPACE:
                kept = len(value)
        each = rest.take()
    return value[:kept]

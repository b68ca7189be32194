"""Reads XML and plain lines, in the process that reads files (`reader_process.py`). Imports nothing of malipo.

An XML file becomes rows, one for each element: `(` and its name where an element with children begins, `)` and its name
where that ends, and `=`, name, text and currency for one without children. `xmlns` and the namespace stand before the
element `Document`, which may be in an envelope.
A file with a DOCTYPE is refused: banks write none, and its entities can name each other without end, or other files.
"""

import os
from collections.abc import Iterator
from typing import Any

_PIECE = 64 * 1024
_MOST_DEPTH = 64


class NotRead(Exception):  # noqa: N818 - the caller makes a refusal of it.
    """The file is not read further, and why."""

    def __init__(self, why: str, detail: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.detail = detail


def element_rows(command: dict[str, Any]) -> Iterator[list[Any]]:
    from xml.parsers import expat

    elements = _Elements(command["cell_characters"])
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.EntityDeclHandler = _refuse_doctype
    parser.StartElementHandler = elements.begin
    parser.EndElementHandler = elements.end
    parser.CharacterDataHandler = elements.add_text
    os.lseek(0, 0, os.SEEK_SET)
    try:
        while piece := os.read(0, _PIECE):
            parser.Parse(piece, False)
            yield from elements.taken()
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        yield from elements.taken()
        raise NotRead("damaged", str(error)) from None
    yield from elements.taken()


class _Elements:
    """The rows of the elements that were parsed."""

    def __init__(self, most_text: int) -> None:
        self._most_text = most_text
        self._rows: list[list[Any]] = []
        self._open: list[tuple[str, str]] = []  # name and currency
        self._is_leaf = False  # the innermost open element has no child so far
        self._text: list[str] = []
        self._length = 0

    def taken(self) -> list[list[Any]]:
        rows, self._rows = self._rows, []
        return rows

    def begin(self, element: str, attributes: dict[str, str]) -> None:
        namespace, _, name = element.rpartition(" ")
        if self._is_leaf:
            self._rows.append(["(", self._open[-1][0]])
        if name == "Document":
            self._rows.append(["xmlns", namespace])
        self._open.append((name, attributes.get("Ccy", "")))
        if len(self._open) > _MOST_DEPTH:
            raise NotRead("damaged", "its elements are too deep")
        self._is_leaf, self._text, self._length = True, [], 0

    def add_text(self, text: str) -> None:
        if self._is_leaf:
            self._length += len(text)
            if self._length > self._most_text:
                raise NotRead("damaged", "an element has too much text")
            self._text.append(text)

    def end(self, element: str) -> None:
        name, currency = self._open.pop()
        if self._is_leaf:
            self._rows.append(["=", name, "".join(self._text).strip(), currency])
        else:
            self._rows.append([")", name])
        self._is_leaf = False


def _refuse_doctype(*_arguments: Any) -> None:
    raise NotRead("damaged", "it has a DOCTYPE")


def line_rows(command: dict[str, Any], encoding: str) -> Iterator[list[Any]]:
    """The lines as rows, each without its end. Lines of an MT940 have up to 65 characters."""
    most = command["cell_characters"]
    os.lseek(0, 0, os.SEEK_SET)
    with open(0, encoding=encoding, newline=None, closefd=False) as file:
        while line := file.readline(most + 1):
            if len(line) > most:
                raise NotRead("damaged", "a line is too long")
            yield [line.rstrip("\r\n")]

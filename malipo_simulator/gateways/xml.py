"""XML: parsed without document types and entities (no XXE), with a limit of depth; and written.

Names are compared without prefix and case, because programs differ in both.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape

_MOST_DEPTH = 12
_MOST_ELEMENTS = 200


class BadXml(Exception):  # noqa: N818
    """Not XML, or beyond the limits."""


class Element:
    __slots__ = ("children", "name", "text")

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = ""
        self.children: list[Element] = []

    def all(self) -> Iterator["Element"]:
        yield self
        for child in self.children:
            yield from child.all()

    def find(self, name: str) -> "Element | None":
        """The first of that name, at any depth."""
        return next((each for each in self.all() if each.name == name.lower()), None)

    def fields(self) -> dict[str, str]:
        """Its children's texts by their names, which are in lower case."""
        return {child.name: child.text.strip() for child in self.children}


class _Reader:
    def __init__(self) -> None:
        self._open: list[Element] = []
        self._count = 0
        self.root: Element | None = None

    def start(self, name: str, attributes: Any) -> None:
        self._count += 1
        if len(self._open) >= _MOST_DEPTH or self._count > _MOST_ELEMENTS:
            raise BadXml
        element = Element(name.rpartition(":")[2].lower())
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def end(self, name: str) -> None:
        self._open.pop()

    def text(self, text: str) -> None:
        self._open[-1].text += text


def read(body: bytes) -> Element:
    reader, parser = _Reader(), expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = _refuse
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, ValueError):
        raise BadXml from None
    assert reader.root is not None
    return reader.root


def _refuse(*declaration: Any) -> None:
    raise BadXml


def write(name: str, fields: Mapping[str, object]) -> bytes:
    """An element with a child for each field, whatever their texts hold."""
    inside = "".join(f"<{field}>{escape(str(value))}</{field}>" for field, value in fields.items())
    return f"<{name}>{inside}</{name}>".encode()


HEAD = b'<?xml version="1.0" encoding="UTF-8"?>'

"""XML of the older networks: parsed with limits and without entities (no XXE), and written.

No document type, so no entities and no references to elsewhere; bounded in size, depth and number of elements. Only the
text of elements without children is kept, by their local names in lower case.
"""

from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape

_MOST_BYTES = 64 * 1024
_MOST_DEPTH = 16
_MOST_ELEMENTS = 200


class _Refused(Exception):  # noqa: N818
    """Outside of the limits, or ambiguous."""


@dataclass(slots=True)
class _Element:
    name: str
    pieces: list[str] = field(default_factory=list)
    has_children: bool = False


class _XmlReader:
    def __init__(self) -> None:
        self.leaves: dict[str, str] = {}
        self._open: list[_Element] = []
        self._elements = 0

    def open(self, name: str, _: object) -> None:
        self._elements += 1
        if len(self._open) >= _MOST_DEPTH or self._elements > _MOST_ELEMENTS:
            raise _Refused
        if self._open:
            self._open[-1].has_children = True
        self._open.append(_Element(name.rpartition(":")[2].lower()))

    def text(self, piece: str) -> None:
        self._open[-1].pieces.append(piece)

    def close(self, _: str) -> None:
        element = self._open.pop()
        text = "".join(element.pieces).strip()
        if element.has_children:
            if text:
                raise _Refused  # Text beside children is ambiguous.
        elif self.leaves.setdefault(element.name, text) != text:
            raise _Refused  # The same name twice with different text is ambiguous.


def read(body: bytes) -> dict[str, str] | None:
    """The text of each leaf by its local name; None for anything that is not small, plain, well-formed XML."""
    if len(body) > _MOST_BYTES:
        return None
    reader = _XmlReader()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.open
    parser.EndElementHandler = reader.close
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, _Refused, ValueError, LookupError):
        return None
    return reader.leaves


def _refuse(*_: object) -> None:
    raise _Refused


def elements(fields: dict[str, str]) -> str:
    """`<name>text</name>` for each, escaped."""
    return "".join(f"<{name}>{escape(_legal(text))}</{name}>" for name, text in fields.items())


def _legal(text: str) -> str:
    return "".join(each for each in text if each.isprintable())

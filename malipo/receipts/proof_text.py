"""The proof of one leaf as a text: C2SP tlog-proof. Pure."""

import base64
import re
from typing import NamedTuple

from malipo.receipts.merkle_tree import HASH_BYTES
from malipo.receipts.signed_note import NoteRefused

_FIRST = "c2sp.org/tlog-proof@v1"
_INDEX = re.compile(r"index (0|[1-9][0-9]{0,18})")


class Proof(NamedTuple):
    leaf: int  # its index
    path: tuple[bytes, ...]  # from the leaf's sibling upwards
    checkpoint: str  # the note

    def __str__(self) -> str:
        hashes = "".join(f"{base64.b64encode(each).decode()}\n" for each in self.path)
        return f"{_FIRST}\nindex {self.leaf}\n{hashes}\n{self.checkpoint}"


def parse(text: str) -> Proof:
    """Read a proof. Nothing is verified yet."""
    head, found, checkpoint = text.partition("\n\n")
    first, *lines = head.split("\n")
    if not found or first != _FIRST:
        raise NoteRefused("not a proof")
    if lines and lines[0].startswith("extra "):
        lines.pop(0)
    match = _INDEX.fullmatch(lines.pop(0)) if lines else None
    if match is None:
        raise NoteRefused("a proof without an index")
    return Proof(int(match[1]), tuple(_hash_of(line) for line in lines), checkpoint)


def _hash_of(line: str) -> bytes:
    try:
        decoded = base64.b64decode(line, validate=True)
    except ValueError:
        decoded = b""
    if len(decoded) != HASH_BYTES or base64.b64encode(decoded).decode() != line:
        raise NoteRefused("a line of a proof that is no hash")
    return decoded

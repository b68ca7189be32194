"""Checkpoints: size and root of the tree, signed, in the format of C2SP tlog-checkpoint. Pure.

The log's key signs twice: the text, and the text with the time.
"""

import base64
import re
from collections.abc import Iterable
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from malipo.receipts import signed_note
from malipo.receipts.merkle_tree import HASH_BYTES
from malipo.receipts.signed_note import Note, NoteRefused, VerifierKey

_TEXT = re.compile(r"([^\n]+)\n(0|[1-9][0-9]{0,18})\n([A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*")


class TreeHead(NamedTuple):
    origin: str  # the name of the log, unique among logs
    size: int
    root: bytes

    def __str__(self) -> str:
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


class Checkpoint(NamedTuple):
    """A checkpoint that a key has signed."""

    head: TreeHead
    time: int  # in seconds since 1970
    key: VerifierKey


def log_number(origin: str) -> int:
    """The number of the log in its origin."""
    return int(origin.rpartition("/")[2])


def parse_head(text: str) -> TreeHead:
    match = _TEXT.fullmatch(text)
    if match is None:
        raise NoteRefused("not a checkpoint")
    root = base64.b64decode(match[3])
    if len(root) != HASH_BYTES or base64.b64encode(root).decode() != match[3]:
        raise NoteRefused("not a checkpoint")
    return TreeHead(match[1], int(match[2]), root)


def head_of(note: str) -> TreeHead:
    """The head in a note, which is not verified here."""
    return parse_head(signed_note.parse(note).text)


def sign(head: TreeHead, key: Ed25519PrivateKey, *, time: int) -> str:
    """Sign a checkpoint as a note. The key has the log's name."""
    text = str(head)
    signatures = (signed_note.sign(text, head.origin, key), signed_note.cosign(text, head.origin, key, time=time))
    return str(Note(text, signatures))


def open_checkpoint(text: str, keys: Iterable[VerifierKey]) -> Checkpoint:
    """Verify a checkpoint: one of these keys must have signed it with its time."""
    note = signed_note.parse(text)
    head = parse_head(note.text)
    for key in keys:
        if key.name != head.origin:
            continue  # A key signs only for the log whose name it has.
        is_signed, time = signed_note.is_signed_by(note, key), signed_note.cosigned_at(note, key)
        if is_signed and time is not None:
            return Checkpoint(head, time, key)
    raise NoteRefused("no known key has signed the checkpoint")


def time_of(text: str | None) -> int:
    """The time in a note, which is not verified here; 0 if it has none."""
    if text is None:
        return 0
    note = signed_note.parse(text)
    times = [int.from_bytes(each.signature[:8], "big") for each in note.signatures if len(each.signature) == 72]
    return max(times, default=0)

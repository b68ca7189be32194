"""Somebody who keeps every checkpoint that was published, with the leaves that it covered, and compares them.

A log may lose its end with a database that is restored, but it may never say another thing of a place that a published
checkpoint has covered.
"""

import asyncio
import base64
import re
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from simulation.database import SimulatedDatabase
from simulation.receipts.tree import root_of

PROCESS = "witness"
_LOOK_SECONDS = 1.5
_NOTE = re.compile(r"([^\n]+)\n([0-9]+)\n([^\n]+)\n\n((?:— [^\n]+\n)+)")
_LINE = re.compile(r"— (\S+) (\S+)")
_KEY_ID_BYTES, _SIGNATURE_BYTES = 4, 64

_CHECKPOINTS = """
    SELECT l.origin, c.size, c.note, (
        SELECT string_agg(encode(k.public_key, 'hex'), ' ') FROM receipt_log_keys k WHERE k.log_number = l.number)
    FROM receipt_checkpoints c JOIN receipt_logs l ON l.number = c.log_number ORDER BY l.number, c.size
"""
_LEAVES = """
    SELECT l.origin, encode(convert_to(l.genesis, 'UTF8'), 'hex'), (
        SELECT string_agg(encode(f.entry, 'hex'), ' ' ORDER BY f.leaf_index) FROM receipt_facts f
        WHERE f.log_number = l.number), (
        SELECT string_agg(f.leaf_index::text, ' ' ORDER BY f.leaf_index) FROM receipt_facts f
        WHERE f.log_number = l.number)
    FROM receipt_logs l WHERE l.genesis IS NOT NULL ORDER BY l.number
"""


class Head(NamedTuple):
    origin: str
    size: int
    root: bytes


class Witness:
    def __init__(self, database: SimulatedDatabase) -> None:
        self._database = database
        self.roots: dict[tuple[str, int], bytes] = {}  # of every checkpoint that was ever seen
        self.notes: set[str] = set()
        self._covered: dict[str, list[bytes]] = {}  # the leaves of each log that a checkpoint has covered
        self.problems: list[str] = []

    async def watch(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(_LOOK_SECONDS)

    def look(self) -> None:
        """Beside the loop: nobody waits for it."""
        leaves = find_leaves(self._database)
        for origin, size, note, keys in self._database.look().ask(_CHECKPOINTS):
            if str(note) not in self.notes:
                self.notes.add(str(note))
                self._take(str(origin), int(size or 0), str(note), str(keys or "").split(), leaves.get(str(origin), []))

    def _take(self, origin: str, size: int, note: str, keys: list[str], leaves: list[bytes]) -> None:
        head = head_of(note)
        if head is None or (head.origin, head.size) != (origin, size):
            self.problems.append(f"a checkpoint of {origin} with {size} leaves is not one: {note!r}")
            return
        if not any(is_signed_by(note, bytes.fromhex(each)) for each in keys):
            self.problems.append(f"no key of {origin} has signed its checkpoint of {size} leaves")
        if self.roots.setdefault((origin, size), head.root) != head.root:
            self.problems.append(f"two checkpoints of {origin} with {size} leaves differ")
        if len(leaves) < size or root_of(leaves[:size]) != head.root:
            self.problems.append(
                f"the checkpoint of {origin} with {size} leaves is not that of its {len(leaves)} leaves"
            )
            return
        known = self._covered.get(origin, [])
        common = min(len(known), size)
        if known[:common] != leaves[:common]:
            self.problems.append(f"{origin} with {size} leaves says something else than it did with {len(known)}")
        if size > len(known):
            self._covered[origin] = leaves[:size]


def find_leaves(database: SimulatedDatabase) -> dict[str, list[bytes]]:
    """By the log. Behind a gap there are none."""
    found: dict[str, list[bytes]] = {}
    for origin, genesis, entries, places in database.look().ask(_LEAVES):
        leaves = [bytes.fromhex(str(genesis))]
        for entry, place in zip(str(entries or "").split(), str(places or "").split(), strict=True):
            if int(place) != len(leaves):
                break
            leaves.append(bytes.fromhex(entry))
        found[str(origin)] = leaves
    return found


def head_of(note: str) -> Head | None:
    match = _NOTE.fullmatch(note)
    return None if match is None else Head(match[1], int(match[2]), base64.b64decode(match[3]))


def is_signed_by(note: str, public_key: bytes) -> bool:
    """Whether one of its signatures is this key's, of the text with its last end of line."""
    text, _, lines = note.rpartition("\n\n")
    signatures = [
        base64.b64decode(match[2])[_KEY_ID_BYTES:] for match in map(_LINE.fullmatch, lines.splitlines()) if match
    ]
    message = f"{text}\n".encode()
    return any(len(each) == _SIGNATURE_BYTES and _verify(public_key, each, message) for each in signatures)


def _verify(public_key: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except InvalidSignature:
        return False
    return True

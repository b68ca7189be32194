"""A handover from one key of the log to the next: up to which size of the tree the old key counts, signed by both.
Pure.

It is written when the key is changed, and when a new log begins. A host that had signed more with the old key than the
host that wrote it knew writes it again, with a larger size. A verifier that trusts one of the two keys can trust the
other: the new one, or the old one up to that size.
"""

import base64
from collections.abc import Iterable
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from malipo.receipts import signed_note
from malipo.receipts.checkpoint import TreeHead, parse_head
from malipo.receipts.signed_note import Note, NoteRefused, VerifierKey, parse_verifier_key

_FIRST = "malipo receipt log handover v1"


class Handover(NamedTuple):
    old: VerifierKey
    last: TreeHead  # the last head that the old key has signed, as far as its host knows
    new: VerifierKey


def sign(last: TreeHead, old: Ed25519PrivateKey, new: Ed25519PrivateKey, *, new_name: str) -> str:
    """Sign a handover as a note. The old key has the name of the log that it has signed."""
    old_key = VerifierKey(last.origin, old.public_key().public_bytes_raw())
    new_key = VerifierKey(new_name, new.public_key().public_bytes_raw())
    text = f"{_FIRST}\n{old_key}\n{last.size}\n{base64.b64encode(last.root).decode()}\n{new_key}\n"
    return str(Note(text, (signed_note.sign(text, last.origin, old), signed_note.sign(text, new_name, new))))


def open_handover(text: str) -> Handover:
    """Verify a handover: both of its keys must have signed it."""
    note, handed = signed_note.parse(text), parse_handover(text)
    if not (signed_note.is_signed_by(note, handed.old) and signed_note.is_signed_by(note, handed.new)):
        raise NoteRefused("a handover that not both keys have signed")
    return handed


def parse_handover(text: str) -> Handover:
    """Read a handover, which is not verified here."""
    lines = signed_note.parse(text).text.split("\n")
    if len(lines) != 6 or lines[0] != _FIRST:
        raise NoteRefused("not a handover")
    _, old_line, size, root, new_line, _ = lines
    old, new = parse_verifier_key(old_line), parse_verifier_key(new_line)
    return Handover(old, parse_head(f"{old.name}\n{size}\n{root}\n"), new)


def trusted_keys(keys: Iterable[VerifierKey], handovers: Iterable[Handover]) -> dict[VerifierKey, int | None]:
    """The keys that follow from the trusted ones by handovers, each with the last size that it may sign; None: any
    size.

    Of several handovers from one key to another the largest size counts: no thief of one of them can have signed it. If
    a key has handed over to two others, two holders use it: then no key follows from it.
    """
    trusted: dict[VerifierKey, int | None] = dict.fromkeys(keys)
    widest = {(each.old, each.new): each for each in sorted(handovers, key=lambda each: each.last.size)}
    olds = [old for old, _ in widest]
    left = {each for each in widest.values() if olds.count(each.old) == 1}
    while following := [each for each in left if each.old in trusted or each.new in trusted]:
        for each in following:
            trusted[each.old] = each.last.size
            trusted.setdefault(each.new, None)
            left.remove(each)
    return trusted

"""C2SP signed notes with Ed25519: a text, an empty line, and lines with signatures. Pure.

A signature line is `— name base64(key id, signature)`. The key id is the first 4 bytes of SHA-256(name, newline, type,
public key). Type 1 signs the text; type 4 is a cosignature, which signs a time before the text.
"""

import base64
import binascii
import hashlib
import re
import unicodedata
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_SIGNATURE = re.compile(r"— ([^ +]+) ([A-Za-z0-9+/]+={0,2})")
_MOST_SIGNATURES = 100
_KEY_ID_BYTES = 4
_TIME_BYTES = 8


class NoteRefused(Exception):  # noqa: N818
    """A note that cannot be trusted: it is malformed, or no known key has signed it."""


class SignatureType(IntEnum):
    NOTE = 1
    COSIGNATURE = 4


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A name and a public key: what a reader of notes needs to know of a signer."""

    name: str
    public_key: bytes

    def __post_init__(self) -> None:
        if not is_name(self.name) or len(self.public_key) != 32:
            raise NoteRefused("not a verifier key")

    def key_id(self, type_: SignatureType = SignatureType.NOTE) -> bytes:
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([type_]) + self.public_key).digest()[:_KEY_ID_BYTES]

    def __str__(self) -> str:
        """`name+key id+base64(type, public key)`."""
        encoded = base64.b64encode(bytes([SignatureType.NOTE]) + self.public_key).decode()
        return f"{self.name}+{self.key_id().hex()}+{encoded}"


def parse_verifier_key(text: str) -> VerifierKey:
    name, *rest = text.split("+", 2)
    if len(rest) != 2:
        raise NoteRefused("not a verifier key")
    public = _decode(rest[1])
    if public[:1] != bytes([SignatureType.NOTE]):
        raise NoteRefused("not an Ed25519 verifier key")
    key = VerifierKey(name, public[1:])
    if str(key) != text:
        raise NoteRefused("a verifier key of which the key id is wrong")
    return key


class Signature(NamedTuple):
    name: str
    key_id: bytes
    signature: bytes  # of a cosignature, with its time before it

    def __str__(self) -> str:
        return f"— {self.name} {base64.b64encode(self.key_id + self.signature).decode()}\n"


class Note(NamedTuple):
    text: str  # with its last newline
    signatures: tuple[Signature, ...]

    def __str__(self) -> str:
        return self.text + "\n" + "".join(map(str, self.signatures))


def is_name(name: str) -> bool:
    return bool(name) and "+" not in name and not any(each.isspace() for each in name) and name.isprintable()


def sign(text: str, name: str, key: Ed25519PrivateKey) -> Signature:
    _require_text(text)
    verifier = VerifierKey(name, key.public_key().public_bytes_raw())
    return Signature(name, verifier.key_id(), key.sign(text.encode()))


def cosign(text: str, name: str, key: Ed25519PrivateKey, *, time: int) -> Signature:
    """Sign with a time, in seconds since 1970."""
    _require_text(text)
    verifier = VerifierKey(name, key.public_key().public_bytes_raw())
    signature = time.to_bytes(_TIME_BYTES, "big") + key.sign(_cosigned(text, time))
    return Signature(name, verifier.key_id(SignatureType.COSIGNATURE), signature)


def parse(note: str) -> Note:
    """Read a note. Nothing is verified yet."""
    text, found, signed = note.rpartition("\n\n")
    if not found:
        raise NoteRefused("not a signed note")
    text += "\n"
    _require_text(text)
    lines = signed.split("\n")
    if lines.pop() != "" or not 1 <= len(lines) <= _MOST_SIGNATURES:
        raise NoteRefused("a note without signatures, or with too many")
    return Note(text, tuple(_signature_of(line) for line in lines))


def is_signed_by(note: Note, key: VerifierKey) -> bool:
    """Whether the key has signed the text. A wrong signature under this key's name and id refuses the note."""
    found = False
    for each in note.signatures:
        if (each.name, each.key_id) == (key.name, key.key_id()):
            _verify(key, each.signature, note.text.encode())
            found = True
    return found


def cosigned_at(note: Note, key: VerifierKey) -> int | None:
    """The time that the key has signed together with the text; None if it has not signed a time."""
    found: int | None = None
    for each in note.signatures:
        if (each.name, each.key_id) == (key.name, key.key_id(SignatureType.COSIGNATURE)):
            time = int.from_bytes(each.signature[:_TIME_BYTES], "big")
            _verify(key, each.signature[_TIME_BYTES:], _cosigned(note.text, time))
            found = time if found is None else min(found, time)
    return found


def _cosigned(text: str, time: int) -> bytes:
    return f"cosignature/v1\ntime {time}\n{text}".encode()


def _verify(key: VerifierKey, signature: bytes, message: bytes) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(key.public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        raise NoteRefused(f"the signature of {key.name} is wrong") from None


def _signature_of(line: str) -> Signature:
    match = _SIGNATURE.fullmatch(line)
    if match is None or not is_name(match[1]):
        raise NoteRefused("a line that is no signature")
    decoded = _decode(match[2])
    if len(decoded) <= _KEY_ID_BYTES:
        raise NoteRefused("a signature that is too short")
    return Signature(match[1], decoded[:_KEY_ID_BYTES], decoded[_KEY_ID_BYTES:])


def _require_text(text: str) -> None:
    if not text.endswith("\n") or any(unicodedata.category(each) == "Cc" and each != "\n" for each in text):
        raise NoteRefused("a text with control characters, or without an end of line")


def _decode(text: str) -> bytes:
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise NoteRefused("not base64") from None
    if base64.b64encode(decoded).decode() != text:
        raise NoteRefused("base64 that is not written as it must be")
    return decoded

"""Closed days as they are stored, and their signatures: any change of one is found. Pure.

Ed25519: whoever has the public key can verify a close elsewhere, and cannot sign one.
"""

from datetime import date, datetime

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from malipo import clock
from malipo.reconciliation.close.day_close import DayClose, decode, hash_of


class ClosedDay(msgspec.Struct, frozen=True, kw_only=True):
    day: date
    content: str
    previous: bytes | None
    hash: bytes
    counted: str
    digest: bytes
    reason: str
    requested_by: str | None
    closed_by: str
    closed_at: datetime
    key_id: str = ""
    signature: bytes = b""

    @property
    def close(self) -> DayClose:
        return decode(self.content)


def signed(closed: ClosedDay, key_id: str, key: Ed25519PrivateKey) -> ClosedDay:
    closed = msgspec.structs.replace(closed, key_id=key_id)
    return msgspec.structs.replace(closed, signature=key.sign(message_of(closed)))


def is_signed(closed: ClosedDay, key: Ed25519PublicKey) -> bool:
    try:
        key.verify(closed.signature, message_of(closed))
    except InvalidSignature:
        return False
    return True


def wrong_link(closed: ClosedDay, before: ClosedDay | None) -> str | None:
    """Why a close is not the one that was made after the one before it."""
    if closed.hash != hash_of(closed.previous, closed.content):
        return "its content is not that of its hash"
    if closed.previous != (None if before is None else before.hash):
        return "it does not follow the close before it"
    if before is not None and (closed.day - before.day).days != 1:
        return f"the days between it and {before.day} are missing"
    return None


def message_of(closed: ClosedDay) -> bytes:
    """What is signed: each column, in an order that never changes, so that none can be taken for another."""
    fields = {name: getattr(closed, name) for name in closed.__struct_fields__ if name != "signature"}
    fields["closed_at"] = clock.iso(closed.closed_at)
    return b"malipo: daily close 1\n" + msgspec.json.encode(fields, order="sorted", enc_hook=bytes.hex)

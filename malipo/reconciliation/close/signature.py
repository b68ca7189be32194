"""The signatures of closed days, by which any change of a close is found. Pure.

They are Ed25519 signatures: the public key verifies a close elsewhere, and cannot sign one.
"""

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec.structs import replace

from malipo import clock
from malipo.reconciliation.close.closed_day import ClosedDay

# By name, and not all that a closed day has: with one more, the signature of no day of before would fit.
_SIGNED = (
    "day",
    "content",
    "previous",
    "hash",
    "counted",
    "digest",
    "reason",
    "requested_by",
    "closed_by",
    "closed_at",
    "key_id",
)


def signed(closed: ClosedDay, key_id: str, key: Ed25519PrivateKey) -> ClosedDay:
    closed = replace(closed, key_id=key_id)
    return replace(closed, signature=key.sign(message_of(closed)))


def is_signed(closed: ClosedDay, key: Ed25519PublicKey) -> bool:
    try:
        key.verify(closed.signature, message_of(closed))
    except InvalidSignature:
        return False
    return True


def message_of(closed: ClosedDay) -> bytes:
    """The signed message: JSON with each column's name, sorted by name, so that no column can be taken for another.
    Bytes are base64."""
    fields = {name: getattr(closed, name) for name in _SIGNED}
    fields["closed_at"] = clock.iso(closed.closed_at)
    return b"malipo: daily close 1\n" + msgspec.json.encode(fields, order="sorted")

"""Closed days as they are stored, and their signatures: any change of one is found. Pure.

Ed25519: whoever has the public key can verify a close elsewhere, and cannot sign one.
"""

from datetime import date, datetime

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from malipo import clock, ids, randomness
from malipo.db import Conn, Tx
from malipo.encryption import CannotDecrypt, Encryption
from malipo.reconciliation.close.signed_content import DayClose, decode, hash_of
from malipo.reconciliation.close.store import signing_keys as store


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


# The key that signs closed days: made with the first close, and stored encrypted under MALIPO_SECRET_KEY.
#
# When that key is changed, this one is encrypted anew and stays the same, so old signatures stay good.


_PREFIX = "csk_"


async def find_or_make(tx: Tx, encryption: Encryption, *, now: datetime) -> tuple[str, Ed25519PrivateKey]:
    """The caller has locked the close, so there is one key."""
    if found := await store.find_all(tx):
        key_id, secret = found[-1]
        return key_id, _decrypt(encryption, key_id, secret)
    seed, key_id = randomness.token_bytes(32), ids.mint(_PREFIX, now)
    key = Ed25519PrivateKey.from_private_bytes(seed)
    secret = encryption.encrypt(seed.hex(), owner=key_id)
    await store.insert(tx, key_id, secret, key.public_key().public_bytes_raw(), now=now)
    return key_id, key


async def find_keys(connection: Conn, encryption: Encryption) -> dict[str, Ed25519PrivateKey | None]:
    """By their ids; None: it cannot be decrypted, so nothing that it signed can be believed."""
    keys: dict[str, Ed25519PrivateKey | None] = {}
    for key_id, secret in await store.find_all(connection):
        try:
            keys[key_id] = _decrypt(encryption, key_id, secret)
        except CannotDecrypt:
            keys[key_id] = None
    return keys


async def reencrypt(tx: Tx, encryption: Encryption) -> tuple[int, int]:
    """Encrypt every key under the present one; how many were not, of how many."""
    found = await store.find_all(tx)
    old = [(key_id, secret) for key_id, secret in found if not encryption.is_current(secret)]
    for key_id, secret in old:
        plain = encryption.decrypt(secret, owner=key_id)
        await store.set_secret(tx, key_id, encryption.encrypt(plain, owner=key_id))
    return len(old), len(found)


def _decrypt(encryption: Encryption, key_id: str, secret: bytes) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(encryption.decrypt(secret, owner=key_id)))

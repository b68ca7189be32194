"""The key that signs closed days: made with the first close, and stored encrypted under MALIPO_SECRET_KEY.

When MALIPO_SECRET_KEY changes, the signing key is encrypted again and stays the same, so old signatures stay valid.
"""

from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from malipo import ids, randomness
from malipo.db import Conn, Tx
from malipo.encryption import CannotDecrypt, Encryption
from malipo.reconciliation.close.store import signing_keys as store

_PREFIX = "csk_"


async def find_or_make(tx: Tx, encryption: Encryption, *, now: datetime) -> tuple[str, Ed25519PrivateKey]:
    """The signing key; it is made if there is none. The caller has locked the close, so that only one is made."""
    if found := await store.find_all(tx):
        key_id, secret = found[-1]
        return key_id, _decrypt(encryption, key_id, secret)
    seed, key_id = randomness.token_bytes(32), ids.mint(_PREFIX, now)
    key = Ed25519PrivateKey.from_private_bytes(seed)
    secret = encryption.encrypt(seed.hex(), owner=key_id)
    await store.insert(tx, key_id, secret, key.public_key().public_bytes_raw(), now=now)
    return key_id, key


async def find_keys(connection: Conn, encryption: Encryption) -> dict[str, Ed25519PrivateKey | None]:
    """The signing keys by their ids. None for a key that cannot be decrypted: nothing that it signed can be
    verified."""
    keys: dict[str, Ed25519PrivateKey | None] = {}
    for key_id, secret in await store.find_all(connection):
        try:
            keys[key_id] = _decrypt(encryption, key_id, secret)
        except CannotDecrypt:
            keys[key_id] = None
    return keys


async def reencrypt(tx: Tx, encryption: Encryption) -> tuple[int, int]:
    """Encrypt every signing key with the current key. Returns how many needed it, and how many there are."""
    found = await store.find_all(tx)
    old = [(key_id, secret) for key_id, secret in found if not encryption.is_current(secret)]
    for key_id, secret in old:
        plain = encryption.decrypt(secret, owner=key_id)
        await store.set_secret(tx, key_id, encryption.encrypt(plain, owner=key_id))
    return len(old), len(found)


def _decrypt(encryption: Encryption, key_id: str, secret: bytes) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(encryption.decrypt(secret, owner=key_id)))

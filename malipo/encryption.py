"""Encryption of secrets that we must be able to read again, under a key from the settings.

What is encrypted names the key that encrypted it, so that the key can be changed: the new one encrypts, the previous
one still decrypts, until everything has been encrypted anew. It is tied to its owner: moved to another row, it cannot
be decrypted.
"""

import hashlib

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from malipo import randomness
from malipo.errors import Impossible

_PURPOSE = b"malipo: secrets at rest"
_NAME_BYTES = 8
_NONCE_BYTES = 12


class CannotDecrypt(Impossible):
    """Encrypted under a key that is not set, or changed since."""


class Encryption:
    def __init__(self, key: str, *previous: str) -> None:
        self._name, self._cipher = _named(key)
        self._ciphers = dict([_named(each) for each in previous]) | {self._name: self._cipher}

    def encrypt(self, secret: str, *, owner: str) -> bytes:
        nonce = randomness.token_bytes(_NONCE_BYTES)
        return self._name + nonce + self._cipher.encrypt(nonce, secret.encode(), owner.encode())

    def decrypt(self, encrypted: bytes, *, owner: str) -> str:
        name, nonce, rest = (
            encrypted[:_NAME_BYTES],
            encrypted[_NAME_BYTES:][:_NONCE_BYTES],
            encrypted[_NAME_BYTES + _NONCE_BYTES :],
        )
        cipher = self._ciphers.get(name)
        if cipher is None:
            raise CannotDecrypt(
                f"The secret of {owner} is encrypted by a key that is neither MALIPO_SECRET_KEY nor the previous one."
            )
        try:
            return cipher.decrypt(nonce, rest, owner.encode()).decode()
        except (InvalidTag, ValueError):
            raise CannotDecrypt(f"The secret of {owner} has been changed since it was encrypted.") from None

    def is_current(self, encrypted: bytes) -> bool:
        return encrypted[:_NAME_BYTES] == self._name


def _named(key: str) -> tuple[bytes, AESGCM]:
    """The cipher of a key, and the name that its ciphertexts carry, which reveals nothing of the key."""
    derived = HKDF(hashes.SHA256(), 32, salt=None, info=_PURPOSE).derive(key.encode())
    return hashlib.sha256(b"name" + derived).digest()[:_NAME_BYTES], AESGCM(derived)

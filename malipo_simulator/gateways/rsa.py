"""RSA-encrypted secrets, as merchants' programs send them: decrypted once, and cached."""

import base64
import binascii

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

# A program that encrypts the same secret anew for every request would otherwise fill the memory.
_MOST_REMEMBERED = 4_096
_OAEP = padding.OAEP(mgf=padding.MGF1(algorithm=hashes.SHA256()), algorithm=hashes.SHA256(), label=None)
_PKCS1V15 = padding.PKCS1v15()


_ahead: list[str] = []


def make_ahead(count: int) -> None:
    """Make the keys before many simulators are forked, because making a key takes a fifth of a second. The forks share
    them."""
    _ahead.extend([new_private_key() for _ in range(count)])


def new_private_key() -> str:
    if _ahead:
        return _ahead.pop()
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return key.private_bytes(*form).decode()


class RsaSecrets:
    def __init__(self, private_key: str) -> None:
        key = serialization.load_pem_private_key(
            private_key.encode(), password=None, unsafe_skip_rsa_key_validation=True
        )
        assert isinstance(key, rsa.RSAPrivateKey)
        self._key = key
        self._opened: dict[tuple[str, bool], str] = {}
        spki = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.public_key = base64.b64encode(key.public_key().public_bytes(*spki)).decode()

    def open(self, encrypted: str, *, is_oaep: bool = False) -> str | None:
        """What was encrypted; None for what was not encrypted with our key in this way."""
        found = self._opened.get((encrypted, is_oaep))
        if found is not None:
            return found
        try:
            opened = self._decrypted(encrypted, is_oaep=is_oaep).decode()
        except (ValueError, binascii.Error):
            return None
        if len(self._opened) >= _MOST_REMEMBERED:
            self._opened.clear()
        self._opened[encrypted, is_oaep] = opened
        return opened

    def is_digest(self, encrypted: object, digest: bytes) -> bool:
        """Whether this is the digest, encrypted with our key. Each is new, so none is remembered."""
        try:
            return isinstance(encrypted, str) and self._decrypted(encrypted) == digest
        except (ValueError, binascii.Error):
            return False

    def _decrypted(self, encrypted: str, *, is_oaep: bool = False) -> bytes:
        return self._key.decrypt(base64.b64decode(encrypted, validate=True), _OAEP if is_oaep else _PKCS1V15)

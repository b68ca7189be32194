"""Airtel Money's message signing: verifies a signature over these bytes. Pure; RSA was decrypted before."""

import base64
import hmac

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7

_KEY_BYTES, _IV_BYTES = 32, 16


def is_signed(body: bytes, *, key_and_iv: str, signature: str) -> bool:
    """As the operator checks it: the body that came is encrypted once more, and must come out the same."""
    key_text, _, iv_text = key_and_iv.partition(":")
    key, iv = _decoded(key_text), _decoded(iv_text)
    if len(key) != _KEY_BYTES or len(iv) != _IV_BYTES:
        return False
    padder, cipher = PKCS7(algorithms.AES.block_size).padder(), Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
    encrypted = cipher.update(padder.update(body) + padder.finalize()) + cipher.finalize()
    return hmac.compare_digest(base64.b64encode(encrypted), signature.encode())


def _decoded(text: str) -> bytes:
    """The decoded text; empty if it is not base64, because a wrongly decrypted key can be any text."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""

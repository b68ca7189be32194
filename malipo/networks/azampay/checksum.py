"""The checksum that AzamPay wants with each request: chosen fields, joined with nothing between, SHA-512, encrypted
with their key.

AzamPay decrypts it. It proves nothing about us, because anybody with AzamPay's public key can make one. The padding is
random, so that two requests never have the same checksum.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from malipo.networks import rsa

NAME_LOOKUP = ("bankName", "accountNumber")
_DIGEST_BYTES = hashlib.sha512().digest_size
_PADDING_BYTES = 11


def usable_key(text: str) -> RSAPublicKey:
    """AzamPay's public key; ValueError says what is wrong with it."""
    key = rsa.public_key(text)
    if key.key_size < 8 * (_DIGEST_BYTES + _PADDING_BYTES):
        raise ValueError("the public key is too short for a checksum")
    return key


def checksum_of(body: Mapping[str, Any], fields: Sequence[str], key: RSAPublicKey) -> str:
    """Over fields that are named by their path in the body, such as `source.accountNumber`."""
    text = "".join(_text_at(body, field) for field in fields)
    return rsa.encrypted(key, hashlib.sha512(text.encode()).digest())


def _text_at(body: Mapping[str, Any], field: str) -> str:
    found: Any = body
    for name in field.split("."):
        found = found[name]
    return str(found)

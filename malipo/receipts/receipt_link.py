"""The token in a receipt's address: nobody can guess it, and no row stores it. Pure.

It is the payment's reference with 100 bits that are derived from a secret of the installation that never changes.
"""

import hmac
import re

from malipo import ids

_BITS = 100
_PURPOSE = b"malipo: receipt 1\n"
_TOKEN = re.compile(r"([A-Z0-9]{1,8}-[A-Z0-9]{1,40})-([0-9a-z]{20})")


def token_of(secret: bytes, merchant_id: str, payment_id: str, reference: str) -> str:
    return f"{reference}-{_proof_of(secret, merchant_id, payment_id)}"


def reference_in(token: str) -> str | None:
    """The payment's reference in a token, which is not verified here; None if the text is no token."""
    match = _TOKEN.fullmatch(token)
    return None if match is None else match[1]


def is_valid(secret: bytes, token: str, merchant_id: str, payment_id: str) -> bool:
    match = _TOKEN.fullmatch(token)
    return match is not None and hmac.compare_digest(match[2], _proof_of(secret, merchant_id, payment_id))


def _proof_of(secret: bytes, merchant_id: str, payment_id: str) -> str:
    digest = hmac.digest(secret, _PURPOSE + f"{merchant_id}\n{payment_id}".encode(), "sha256")
    number = int.from_bytes(digest, "big") >> (256 - _BITS)
    low, high = number & ((1 << 80) - 1), number >> 80
    return (ids.base32_of_80_bits(high)[-4:] + ids.base32_of_80_bits(low)).lower()

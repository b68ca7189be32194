"""Network keys that are derived, so that a request repeated after a restore is refused as a duplicate. Pure.

What a payment's key is derived from is chosen in `payments/derived_network_keys.py`.
A random key would be another one when the database has lost the first. A derived key is the same.
"""

import base64
import hashlib
import hmac
import re

KEY_LENGTH = 16  # 80 bits, in Crockford's base 32

_TO_CROCKFORD = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789ABCDEFGHJKMNPQRSTVWXYZ")
# Tigo Pesa has the biller's code before it, in at most 20 characters together.
_WRITTEN = re.compile(rf"[0-9A-Za-z]{{0,4}}([0-9A-HJKMNP-TV-Z]{{{KEY_LENGTH}}})")


def derive(secret: bytes, *parts: str) -> str:
    """The same parts always give the same key. Each part has its length before it, so that they cannot be confused."""
    message = b"".join(len(part.encode()).to_bytes(4) + part.encode() for part in parts)
    digest = hmac.digest(secret, message, hashlib.sha256)
    return base64.b32encode(digest[:10]).translate(_TO_CROCKFORD).decode()


def key_in(written: str) -> str | None:
    """Our key in what a network repeats of a payment; None if it is something else, such as a customer's own words."""
    found = _WRITTEN.fullmatch(written.strip())
    return found[1] if found else None

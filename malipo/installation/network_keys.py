"""Network keys that are derived, so that a request repeated after a restore is refused as a duplicate. Pure.

A key that is drawn by chance is another one when the database has forgotten the first. A derived one is the same.
"""

import base64
import hashlib
import hmac

KEY_LENGTH = 16  # 80 bits, in Crockford's base 32

_TO_CROCKFORD = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789ABCDEFGHJKMNPQRSTVWXYZ")


def derive(secret: bytes, *parts: str) -> str:
    """The same for the same parts, for ever. Each part is told from its neighbour by its length."""
    message = b"".join(len(part.encode()).to_bytes(4) + part.encode() for part in parts)
    digest = hmac.digest(secret, message, hashlib.sha256)
    return base64.b32encode(digest[:10]).translate(_TO_CROCKFORD).decode()

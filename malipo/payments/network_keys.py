"""Network keys that are derived, so that a request repeated after a restore is refused as a duplicate. Pure.

What a payment's key is derived from is chosen in `payments/assign_network_keys.py`.
A random key would be another one when the database has lost the first. A derived key is the same.
"""

import hmac
import re

from malipo import ids

KEY_LENGTH = 16  # 80 bits, in Crockford's base 32

# Networks and portals write something before it, such as a biller's code. A number of a network's own may be as long: a
# key without a letter is one in a hundred million.
_KEY = re.compile(rf"[0-9A-HJKMNP-TV-Z]{{{KEY_LENGTH}}}")


def derive(secret: bytes, *parts: str) -> str:
    """The same parts always give the same key. Each part has its length before it, so that they cannot be confused."""
    message = b""
    for part in parts:
        encoded = part.encode()
        message += len(encoded).to_bytes(4) + encoded
    # The name of the hash, not its constructor: only so it is computed in one call into OpenSSL.
    digest = hmac.digest(secret, message, "sha256")
    return ids.base32_of_80_bits(int.from_bytes(digest[:10]))


def key_in(written: str) -> str | None:
    """Our key in what a network repeats of a payment: its last characters. None if it is something else, such as a
    customer's own words. `ending_sql` is the same for SQL, which looks for a payment that has the key."""
    ending = written.rstrip()[-KEY_LENGTH:]
    return ending if _KEY.fullmatch(ending) and not ending.isdigit() else None


def ending_sql(written: str) -> str:
    """Where our key is, if there is one in what a network has written: an expression for SQL."""
    return f"right(rtrim({written}), {KEY_LENGTH})"

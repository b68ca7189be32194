"""Network keys that are derived, so that a request repeated after a restore is refused as a duplicate. Pure.

If the database has lost a payment, a repeated request gets the same derived key; a random key would be a different one.
From what a key is derived: `payments/assign_network_keys.py`.
"""

import hmac
import re

from malipo import ids

KEY_LENGTH = 16  # 80 bits, in Crockford's base 32

# Networks and portals write something before the key, such as a biller's code. A number of the network itself may be as
# long, but only one key in a hundred million has no letter.
_KEY = re.compile(rf"[0-9A-HJKMNP-TV-Z]{{{KEY_LENGTH}}}")


def derive(secret: bytes, *parts: str) -> str:
    """Derive a network key from these parts: the same parts always give the same key. Each part has its length before
    it, so that they cannot be confused."""
    message = b""
    for part in parts:
        encoded = part.encode()
        message += len(encoded).to_bytes(4) + encoded
    # Given by name, the hash is computed in one call into OpenSSL.
    digest = hmac.digest(secret, message, "sha256")
    return ids.base32_of_80_bits(int.from_bytes(digest[:10]))


def key_in(written: str) -> str | None:
    """Our key in a network's text about a payment: its last characters. None if they are something else, such as a
    customer's words. `ending_sql` is the same in SQL, which looks for a payment with the key."""
    ending = written.rstrip()[-KEY_LENGTH:]
    return ending if _KEY.fullmatch(ending) and not ending.isdigit() else None


def ending_sql(written: str) -> str:
    """An SQL expression for the part of a network's text where our key would be."""
    return f"right(rtrim({written}), {KEY_LENGTH})"

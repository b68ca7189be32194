"""The code in a link's address: 16 characters, 80 bits.

A code is derived from the Idempotency-Key of the link's request, if there is one: a request that is repeated after a
restore gets the address that the merchant has already sent to customers. It never follows from the link's id, which
others may know.
"""

from malipo import ids
from malipo.payments import network_keys


def code_of(secret: bytes, merchant_id: str, key: str | None) -> str:
    if key is None:
        return ids.random("")
    return network_keys.derive(secret, merchant_id, "code of a link", key).lower()

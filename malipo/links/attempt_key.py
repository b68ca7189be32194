"""From what the network key of an attempt at a link is derived. Pure.

From the link, the number, how many attempts the number has made, and the typed amount. So if a restored database has
lost an attempt, the network refuses its repeat as a duplicate. A press with another amount gets another key, because
many networks report a payment without its amount.
"""

from malipo.payments import network_keys

# The scope of the attempts' idempotency keys, and a part of the text from which network keys are derived. Merchants'
# own keys have other scopes.
SCOPE = "LINK"


def key_of(code: str, phone: str, ordinal: int, typed_amount: int | None) -> str:
    """The idempotency key. `code` is that in the link's address, which a link that is made again has too."""
    return f"{code}:{phone}:{ordinal}" + ("" if typed_amount is None else f":{typed_amount}")


def network_key_of(
    secret: bytes, merchant_id: str, code: str, phone: str, ordinal: int, typed_amount: int | None
) -> str:
    return network_keys.derive(secret, merchant_id, SCOPE, key_of(code, phone, ordinal, typed_amount))

"""What casework is about: an exception of a network or of the bank by its id, or a payment by its id and its
merchant. Pure.
"""

from typing import NamedTuple


class CaseworkSubject(NamedTuple):
    id: str  # exc_…, bex_… or txn_…
    merchant_id: str | None = None  # of a payment

"""What casework is about: an exception by its id, or a payment by its id and its merchant. Pure."""

from typing import NamedTuple


class CaseworkSubject(NamedTuple):
    id: str  # exc_… or txn_…
    merchant_id: str | None = None  # of a payment

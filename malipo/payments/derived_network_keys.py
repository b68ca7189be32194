"""Gives a payment the network key that is derived from its Idempotency-Key, or finds the payment that has it.

How a key is derived, the HMAC and its length, is in `installation/network_keys.py`; here is what it is derived from.
"""

from msgspec.structs import replace

from malipo.db import Database, retry
from malipo.installation import network_keys
from malipo.installation.store import installation
from malipo.payments.idempotency import KeyReused
from malipo.payments.initiate import Initiated, Order
from malipo.payments.payment_request import Terms
from malipo.payments.store import transactions
from malipo.payments.transaction import Transaction

# The fields that must be equal for a request to be a replay of the payment that has its key.
_SAME = ("type", "channel", "amount", "phone")


class DerivedKeys:
    def __init__(self, database: Database, terms: Terms) -> None:
        self._database = database
        self._terms = terms
        self._secret: bytes | None = None  # read once: it never changes

    async def give(self, order: Order) -> Order:
        """Where there is an Idempotency-Key, the network knows the payment by a key that is the same at every try."""
        if order.draft is None or order.key is None or order.draft.refund_of is not None:
            return order  # The key of a refund comes from its collection, with that locked.
        if self._secret is None:
            found = await retry.read(self._database, installation.get)
            self._secret = found.key_secret
        key = network_keys.derive(self._secret, order.merchant_id, order.type, order.key)
        reference = self._terms.reference_of(key)
        return replace(order, draft=replace(order.draft, network_key=key, reference=reference, is_key_derived=True))

    async def replay(self, draft: Transaction) -> Initiated:
        """The derived key exists, its Idempotency-Key does not: the same payment is a replay, another is refused."""
        found = await retry.read(
            self._database,
            lambda connection: transactions.get(connection, draft.merchant_id, draft.reference),
        )
        if found is None or any(getattr(found, name) != getattr(draft, name) for name in _SAME):
            raise KeyReused
        return Initiated(found, is_replay=True)

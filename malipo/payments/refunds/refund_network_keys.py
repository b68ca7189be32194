"""The network keys of refunds. They are derived from the collection, so a refund that a restore has lost has the same
key when it is repeated, whatever its Idempotency-Key. Pure.

A lost collection that is repeated, or adopted from a statement, has another id but the same network key. So the keys of
its refunds are derived from that key. An older version derived them from the id; collections of that time keep those
keys, because their refunds may have been sent with them.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from malipo.payments import network_keys
from malipo.payments.refunds import refundable
from malipo.payments.transaction import Transaction
from malipo.restore.installation import Installation

# The scope of the idempotency keys of refunds, and the word from which their network keys are derived.
SCOPE = "REFUND"


@dataclass(frozen=True, slots=True)
class RefundKeys:
    secret: bytes
    since: datetime | None  # from then on keys are derived from network keys; None: from the beginning

    @classmethod
    def of(cls, installation: Installation) -> "RefundKeys":
        return cls(installation.key_secret, installation.refund_keys_since)

    def key_of(self, collection: Transaction, number: int) -> str:
        origin = collection.id if self._is_older(collection) else collection.network_key
        return network_keys.derive(self.secret, collection.merchant_id, SCOPE, origin, str(number))

    def is_key_of(self, collection: Transaction, key: str) -> bool:
        """Whether a network key is that of a refund of this collection."""
        return any(self.key_of(collection, number) == key for number in range(1, refundable.MOST_REFUNDS + 1))

    def next_key(self, collection: Transaction, taken: Collection[str]) -> str:
        """The network key of the next refund: the first derived key that no sent or perhaps sent refund has.

        So a refund that is repeated after a restore gets a key that may have been paid, and its network is queried.
        This also holds if the restore lost several refunds, and a later one is adopted before an earlier one is
        repeated.
        """
        number = 1
        while (key := self.key_of(collection, number)) in taken:
            number += 1
        return key

    def _is_older(self, collection: Transaction) -> bool:
        return self.since is not None and collection.created_at < self.since

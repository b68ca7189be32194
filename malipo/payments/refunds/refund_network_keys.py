"""The network keys of refunds. They follow from the collection, so that a refund which a restore has lost has the same
key when it is repeated, with whatever Idempotency-Key. Pure.

A collection that a restore has lost comes back under another id, repeated by its merchant or adopted from a statement,
but under the same network key: so the keys follow from that. In an older version they followed from the id. They still
do for collections of that time, whose refunds may have been sent by it.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from malipo.payments import network_keys
from malipo.payments.refunds import refundable
from malipo.payments.transaction import Transaction
from malipo.restore.installation import Installation

# The scope of idempotency keys, and the word in what network keys are derived from.
SCOPE = "REFUND"


@dataclass(frozen=True, slots=True)
class RefundKeys:
    secret: bytes
    since: datetime | None  # when this database came to know that keys follow from network keys; None: it always did

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
        """The network key of the next refund: the first that none has, of those that were sent or may have been.

        So a refund that is repeated after a restore gets a key that may have been paid, and its network is asked about
        it: also if the restore has lost several, and a later one of them was adopted before an earlier one is repeated.
        """
        number = 1
        while (key := self.key_of(collection, number)) in taken:
            number += 1
        return key

    def _is_older(self, collection: Transaction) -> bool:
        return self.since is not None and collection.created_at < self.since

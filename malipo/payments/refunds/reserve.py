"""Reserves the remaining amount of collections for refunds. The lock of a collection puts its refunds in a sequence.

    reservations = await Reservations.lock(tx, drafts)   # before wallets are locked
    refund = reservations.take(draft)                     # the refund as it is to be written, or why there can be none
    await status_writer.open_all(tx, [refund], …)         # in the same commit

A refund that comes at the same time, in this process or another, waits for the lock, and then sees this refund.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from malipo.db import Tx
from malipo.errors import Conflict, Invalid, Missing
from malipo.payments.refunds import refundable
from malipo.payments.refunds.refund_network_keys import RefundKeys
from malipo.payments.store import refunds
from malipo.payments.store.refunds import PaymentWithRefunds
from malipo.payments.store.transactions import Key
from malipo.payments.transaction import NoSuchTransaction, Refund, Transaction
from malipo.restore.store import installation


class Reservations:
    def __init__(
        self,
        found: dict[Key, PaymentWithRefunds],
        taken_keys: Mapping[Key, set[str]],
        keys: RefundKeys | None,
        undone: Mapping[Key, bool],
    ) -> None:
        self._found = found
        self._undone = undone
        self._taken_keys = taken_keys
        self._keys = keys

    @classmethod
    async def lock(cls, tx: Tx, drafts: Sequence[Transaction]) -> "Reservations":
        """Lock the collections of these drafts until the commit. A draft that is no refund needs no lock."""
        keys = {(draft.merchant_id, draft.refund_of) for draft in drafts if draft.refund_of is not None}
        if not keys:
            return NO_RESERVATIONS
        found = await refunds.lock(tx, keys)
        refund_keys = RefundKeys.of(await installation.get(tx))
        return cls(found, await refunds.find_keys(tx, keys), refund_keys, await refunds.find_undone(tx, keys))

    def take(self, draft: Transaction) -> Transaction | Conflict | Invalid | Missing:
        """The refund with its amount (0 in the draft: all that is left), its number and its network key; or why there
        can be none.

        Nothing is reserved until `add`, because the wallet may hold too little.
        """
        assert draft.refund_of is not None
        assert self._keys is not None
        if (draft.merchant_id, draft.refund_of) not in self._found:
            return NoSuchTransaction()  # The database was restored since the collection was looked up.
        collection, correction, refunds_ = self._found[draft.merchant_id, draft.refund_of]
        amount = refundable.amount_of(collection, correction, refunds_, wanted=draft.amount or None)
        if not isinstance(amount, int):
            return amount
        is_in_doubt = self._undone.get((draft.merchant_id, collection.id))
        if is_in_doubt:
            # The refund would get the next key, and may have been paid with the one before.
            return refundable.RefundInDoubt()
        taken = self._taken_keys[draft.merchant_id, collection.id]
        key = self._keys.next_key(collection, taken)
        refund = replace(
            draft,
            amount=amount,
            network_key=key,
            is_key_derived=True,
            refund_ordinal=self.next_ordinal(draft),
        )
        if is_in_doubt is not None or any(each.was_never_sent for each in refunds_):
            return refund  # A cancelled or undone refund may have the reference that follows from the key.
        return replace(refund, reference=f"{draft.reference.rpartition('-')[0]}-{key}")

    def next_ordinal(self, draft: Transaction) -> int:
        """The number of the next refund among those of its collection."""
        assert draft.refund_of is not None
        refunds_ = self._found[draft.merchant_id, draft.refund_of].refunds
        return 1 + max((each.ordinal for each in refunds_), default=0)

    def add(self, refund: Transaction) -> None:
        """Count the refund as under way."""
        assert refund.refund_of is not None
        under_way = Refund(refund.id, refund.refund_ordinal, refund.amount, refund.status)
        self._found[refund.merchant_id, refund.refund_of].refunds.append(under_way)
        self._taken_keys[refund.merchant_id, refund.refund_of].add(refund.network_key)


NO_RESERVATIONS = Reservations({}, {}, None, {})

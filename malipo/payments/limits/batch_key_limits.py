"""Payout limits for batches: the limits of the API key that creates a batch, and of the key that approves it.

A batch that could never be approved is refused when it is created. When it is approved, its payouts count for both
keys, in the commit that creates the payouts.
"""

from collections.abc import Sequence
from datetime import date, datetime

from malipo.db import Tx
from malipo.errors import Forbidden
from malipo.merchants.api_keys import PayoutLimits
from malipo.merchants.store import api_keys
from malipo.payments.batches.batch import Batch, BatchItem, Requester
from malipo.payments.limits.key_limits import DailySums
from malipo.payments.limits.payout_sums import PayoutSums


def refusal_at_creation(requester: Requester, items: Sequence[BatchItem]) -> Forbidden | None:
    """Why the key that creates the batch could never pay this out."""
    limits = requester.payout_limits
    if limits is None:
        return None
    nothing_yet = DailySums({limits.key_id: (date.min, 0)}, date.min)
    for item in items:
        if (refusal := nothing_yet.refusal_of(limits, item.amount)) is not None:
            return refusal
        nothing_yet.add(limits, item.amount)
    return None


class UsedLimits:
    """The limits that hold for one approval."""

    def __init__(self, limits: Sequence[PayoutLimits], sums: PayoutSums) -> None:
        self._limits = limits
        self._sums = sums

    def count_against_limits(self, items: Sequence[BatchItem]) -> Forbidden | None:
        """Count these payouts. Returns why they may not be made, if so; then the caller must not save the sums."""
        for limits in self._limits:
            for item in items:
                if (refusal := self._sums.refusal_of(limits, item.amount)) is not None:
                    return refusal
                self._sums.add(limits, item.amount)
        return None

    async def save(self, tx: Tx) -> None:
        await self._sums.save(tx)


async def find(tx: Tx, batch: Batch, requester: Requester, *, now: datetime) -> UsedLimits:
    """The limits that hold for this approval. The caller has locked the wallet."""
    makers = await api_keys.find_payout_limits(tx, batch.merchant_id, batch.created_by)
    both = {each.key_id: each for each in (makers, requester.payout_limits) if each is not None}
    limits = list(both.values())
    return UsedLimits(limits, await PayoutSums.find(tx, limits, now=now))

"""Compares the payouts of one commit with the limits of the API keys and people that make them.

The sums are read after the wallets are locked, and the payouts are written in the same commit. So two concurrent
payouts never use the same remaining amount.
"""

from collections.abc import Iterable
from datetime import datetime

from malipo import clock
from malipo.db import Tx
from malipo.errors import Forbidden
from malipo.merchants.api_keys import PayoutLimits
from malipo.payments.limits.key_limits import NO_SUMS, DailySums
from malipo.payments.limits.person_limits import PersonLimit, PersonSums
from malipo.payments.store import api_key_daily_sums, creators

Limits = PayoutLimits | PersonLimit


class PayoutSums:
    def __init__(self, keys: DailySums, people: PersonSums) -> None:
        self._keys = keys
        self._people = people

    @classmethod
    async def find(cls, tx: Tx, limits: Iterable[Limits], *, now: datetime) -> "PayoutSums":
        """Read the sums. The caller has locked the wallets. Most keys have no daily limit, and need no statement."""
        keys: set[str] = set()
        people: dict[PersonLimit, None] = {}  # in their order
        for each in limits:
            if isinstance(each, PersonLimit):
                people[each] = None
            elif each.daily is not None:
                keys.add(each.key_id)
        stored = await api_key_daily_sums.find_key_sums(tx, keys) if keys else {}
        return cls(
            DailySums(stored, clock.day_of(now)) if stored else NO_SUMS,
            PersonSums(await creators.find_sums(tx, list(people)) if people else {}),
        )

    def refusal_of(self, limits: Limits, amount: int) -> Forbidden | None:
        """Why this payout may not be made, if it may not."""
        if isinstance(limits, PersonLimit):
            return self._people.refusal_of(limits, amount)
        return self._keys.refusal_of(limits, amount)

    def add(self, limits: Limits, amount: int) -> None:
        """Count a payout that is made."""
        if isinstance(limits, PersonLimit):
            self._people.add(limits, amount)
        else:
            self._keys.add(limits, amount)

    async def save(self, tx: Tx) -> None:
        """Save the sums of API keys. The sums of people are read from their payouts."""
        if self._keys.changed:
            await api_key_daily_sums.save_key_sums(tx, self._keys.changed)

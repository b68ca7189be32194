"""Compares the payouts of a batch with the limits of who makes them: an API key, or a person.

The sums are read when the wallets are locked, and the payouts are written in the same commit. So no two payouts use the
same rest, however many come at once.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime

from malipo import clock, money
from malipo.db import Tx
from malipo.errors import Forbidden
from malipo.merchants.api_keys import PayoutLimits
from malipo.payments.limits.person_limits import PersonLimit, PersonSums
from malipo.payments.store import creators

# The limits of an API key for payouts: the most at once, and the most in a day. Pure.
#
# A day is one of Dar es Salaam. What counts is the amount of each payout, without its fee, from its creation on: a
# payout that is cancelled or fails afterwards still counts. So a stolen key is never worth more than its limit,
# whatever becomes of the payouts.


class PayoutTooLarge(Forbidden):
    code = "key_payout_limit"

    def __init__(self, limit: int) -> None:
        super().__init__(f"This API key may pay out at most {money.display(limit)} at once.")


class DayUsedUp(Forbidden):
    code = "key_daily_limit"

    def __init__(self, limit: int, left: int) -> None:
        rest = f"of which {money.display(left)} is left today"
        super().__init__(f"This API key may pay out at most {money.display(limit)} a day, {rest}.")


class DailySums:
    """What each key has paid out today, as the payouts of a batch add to it one after the other."""

    def __init__(self, stored: Mapping[str, tuple[date, int]], today: date) -> None:
        # If the clock of another host is ahead, its day counts: no day is used twice.
        self._sums = {
            key_id: (max(day, today), amount if day >= today else 0) for key_id, (day, amount) in stored.items()
        }
        self.changed: dict[str, tuple[date, int]] = {}

    def refusal_of(self, limits: PayoutLimits, amount: int) -> Forbidden | None:
        """Why the key may not make this payout, if it may not."""
        if limits.each is not None and amount > limits.each:
            return PayoutTooLarge(limits.each)
        if limits.daily is not None:
            _, paid_out = self._sums[limits.key_id]
            if paid_out + amount > limits.daily:
                return DayUsedUp(limits.daily, max(limits.daily - paid_out, 0))
        return None

    def add(self, limits: PayoutLimits, amount: int) -> None:
        """A payout is made."""
        if limits.daily is not None:
            day, paid_out = self._sums[limits.key_id]
            self._sums[limits.key_id] = self.changed[limits.key_id] = (day, paid_out + amount)


NO_SUMS = DailySums({}, date.min)


Limits = PayoutLimits | PersonLimit


class PayoutSums:
    def __init__(self, keys: DailySums, people: PersonSums) -> None:
        self._keys = keys
        self._people = people

    @classmethod
    async def find(cls, tx: Tx, limits: Iterable[Limits], *, now: datetime) -> "PayoutSums":
        """The caller has locked the wallets. Keys without a daily limit, which are most, need no statement."""
        keys: set[str] = set()
        people: dict[PersonLimit, None] = {}  # in their order
        for each in limits:
            if isinstance(each, PersonLimit):
                people[each] = None
            elif each.daily is not None:
                keys.add(each.key_id)
        stored = await creators.find_key_sums(tx, keys) if keys else {}
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
        """A payout is made."""
        if isinstance(limits, PersonLimit):
            self._people.add(limits, amount)
        else:
            self._keys.add(limits, amount)

    async def save(self, tx: Tx) -> None:
        """What people have paid out is read from their payouts, and needs no row."""
        if self._keys.changed:
            await creators.save_key_sums(tx, self._keys.changed)

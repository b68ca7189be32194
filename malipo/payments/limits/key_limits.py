"""The limits of an API key for payouts: the largest payout, and the largest sum of a day. Pure.

Days are those of Dar es Salaam. The amount of each payout counts, without its fee, from its creation on, also if it is
cancelled or fails afterwards. So a thief of the key cannot pay out more than its limit.
"""

from collections.abc import Mapping
from datetime import date

from malipo import money
from malipo.errors import Forbidden
from malipo.merchants.api_keys import PayoutLimits


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
    """The sum that each key has paid out today; the payouts of one commit are added one after the other."""

    def __init__(self, stored: Mapping[str, tuple[date, int]], today: date) -> None:
        # If another host's clock is ahead, its later day counts, so that no day's limit is used twice.
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
        """Count a payout that is made."""
        if limits.daily is not None:
            day, paid_out = self._sums[limits.key_id]
            self._sums[limits.key_id] = self.changed[limits.key_id] = (day, paid_out + amount)


NO_SUMS = DailySums({}, date.min)

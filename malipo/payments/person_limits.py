"""What somebody may pay out in the dashboard without typing the password again. Pure.

What counts is the amount of each payout, without its fee, since the password was last typed, whatever became of it:
many small payouts are a large one. So a stolen cookie is never worth more than this.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from malipo.access.reauthentication import ConfirmationRequired

_COUNTED = timedelta(hours=24)


class PersonLimit(msgspec.Struct, frozen=True):
    """Of somebody who has not typed the password for a while."""

    merchant_id: str
    person: str  # as `created_by` of a payment names them
    since: datetime  # from when on their payouts count
    most: int  # all of them together


def limit_of(merchant_id: str, person: str, *, confirmed_at: datetime, most: int, now: datetime) -> PersonLimit:
    return PersonLimit(merchant_id, person, max(confirmed_at, now - _COUNTED), most)


class PersonSums:
    """What people have paid out, as the payouts of a batch add to it one after the other."""

    def __init__(self, stored: Mapping[PersonLimit, int]) -> None:
        self._stored = stored
        self._added: Counter[tuple[str, str]] = Counter()  # the same person may have several sessions

    def refusal_of(self, limit: PersonLimit, amount: int) -> ConfirmationRequired | None:
        paid_out = self._stored[limit] + self._added[limit.merchant_id, limit.person]
        return ConfirmationRequired() if paid_out + amount > limit.most else None

    def add(self, limit: PersonLimit, amount: int) -> None:
        """A payout is made."""
        self._added[limit.merchant_id, limit.person] += amount

"""How much a person may pay out in the dashboard without typing the password again, and without a second person. Pure.

The amount of each payout counts, without its fee, whatever its outcome, so many small payouts count as a large one. A
thief of a cookie cannot pay out more than the first limit, and nobody pays out more than the second alone in a day.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, time, timedelta

import msgspec

from malipo import clock
from malipo.accounts.reauthentication import ConfirmationRequired
from malipo.errors import Forbidden

_COUNTED = timedelta(hours=24)


class ApprovalRequired(Forbidden):
    """Never shown: the dashboard submits the payout for approval instead."""

    code = "approval_required"

    def __init__(self) -> None:
        super().__init__("Somebody else must approve this payout.")


class PersonLimit(msgspec.Struct, frozen=True):
    """The limit of a person who has not typed the password for a while, or the merchant's limit without a second
    person."""

    merchant_id: str
    person: str  # as `created_by` of a payment names them
    since: datetime  # from when on their payouts count
    most: int  # all of them together
    is_of_approval: bool = False  # the second kind: payouts that another person approved in a batch do not count


def limit_of(merchant_id: str, person: str, *, confirmed_at: datetime, most: int, now: datetime) -> PersonLimit:
    return PersonLimit(merchant_id, person, max(confirmed_at, now - _COUNTED), most)


def approval_limit_of(merchant_id: str, person: str, *, above: int, now: datetime) -> PersonLimit:
    """How much one person may pay out alone on a day of Dar es Salaam."""
    midnight = datetime.combine(clock.day_of(now), time.min, clock.ZONE)
    return PersonLimit(merchant_id, person, midnight, above, is_of_approval=True)


class PersonSums:
    """The sums that people have paid out; the payouts of one commit are added one after the other."""

    def __init__(self, stored: Mapping[PersonLimit, int]) -> None:
        self._stored = stored
        # The same person may have several sessions, and both kinds of limits.
        self._added: Counter[tuple[str, str, bool]] = Counter()

    def refusal_of(self, limit: PersonLimit, amount: int) -> ConfirmationRequired | ApprovalRequired | None:
        paid_out = self._stored[limit] + self._added[limit.merchant_id, limit.person, limit.is_of_approval]
        if paid_out + amount <= limit.most:
            return None
        return ApprovalRequired() if limit.is_of_approval else ConfirmationRequired()

    def add(self, limit: PersonLimit, amount: int) -> None:
        """Count a payout that is made."""
        self._added[limit.merchant_id, limit.person, limit.is_of_approval] += amount

"""People who do not count as a second person yet, because somebody else has invited or reset them. The overview shows
owners their number; the page of people shows since when, by whom, and until when."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from malipo.accounts.four_eyes import COOLING_TIME, last_of_each
from malipo.accounts.store.credential_resets import CredentialReset
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.db import Conn
from malipo.merchants import four_eyes
from malipo.merchants.people import Person
from malipo.merchants.roles import Right, Role
from malipo.merchants.store import people


class WaitingPerson(NamedTuple):
    """Somebody who could approve, and does not count yet as one of two."""

    person: Person
    reset: CredentialReset  # the last one, from which on the time counts
    by: Person | None  # who did it, if that one is of the business still
    may_vouch: bool  # whether who looks may

    @property
    def until(self) -> datetime:
        return self.reset.reset_at + COOLING_TIME

    @property
    def is_told(self) -> bool:
        """Whether the overview mentions this person. Staff who cannot approve are mentioned only if nobody of today's
        people invited or reset them, for then it may have been an operator."""
        return self.person.may(Right.APPROVE) or self.by is None


async def find_waiting(connection: Conn, request: MerchantRequest) -> dict[str, WaitingPerson]:
    """The people who wait, by email. Queries only for an owner whose session says that there are some."""
    if request.session is None or not request.session.has_resets or not request.may(Right.ADMINISTER):
        return {}
    everybody = await people.find_all(connection, request.merchant_id)
    found = await four_eyes.find_open(connection, request.merchant_id, now=request.parts.clock())
    return waiting_of(everybody, found, request.person)


def waiting_of(
    everybody: Sequence[Person], found: Sequence[CredentialReset], looking: Person
) -> dict[str, WaitingPerson]:
    """The people who wait. A viewer cannot approve, so nobody needs to vouch for one. Pure."""
    there = {each.email: each for each in everybody}
    return {
        each.account: WaitingPerson(
            there[each.account],
            each,
            there.get(each.reset_by),
            four_eyes.may_vouch(found, each.account, looking),
        )
        for each in last_of_each(found)
        if each.account in there and there[each.account].role is not Role.VIEWER
    }

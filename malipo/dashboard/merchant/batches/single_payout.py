"""A single payout that somebody makes in the dashboard and that another must approve: a batch of one item."""

from dataclasses import dataclass
from datetime import datetime

from malipo.accounts.four_eyes import waiting
from malipo.dashboard.merchant.batches.approve_or_cancel import requester_of
from malipo.dashboard.merchant.batches.upload import PATH
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.db import Conn
from malipo.merchants import four_eyes
from malipo.merchants.store import approval_rules
from malipo.payments.batches.request import batch_request_of_one
from malipo.payments.batches.store import batches
from malipo.payments.initiate import PaymentRequest
from malipo.payments.limits.person_limits import PersonLimit, approval_limit_of
from malipo.payments.store import creators


@dataclass(frozen=True, slots=True)
class Allowance:
    """The sum that a person may pay out without another: the limit, if there is one, and how much of it is used."""

    limit: PersonLimit | None = None
    paid_out: int = 0

    def is_enough_for(self, amount: int) -> bool:
        """As far as it is known now. The limit is compared again under the lock of the wallet."""
        return self.limit is None or self.paid_out + amount <= self.limit.most


async def find_allowance(connection: Conn, merchant_id: str, person: str, *, now: datetime) -> Allowance:
    """Find the amount that a person may pay out alone, by the merchant's rule. It is zero for a person who does not
    count as a second person yet; otherwise an owner could get another allowance with each new account. It is also zero
    while an operator may have access to the account, even if the merchant has no such rule."""
    above = (await approval_rules.get(connection, merchant_id, now=now)).above
    if person in await four_eyes.find_not_paying(connection, merchant_id, now=now):
        above = 0
    if above is None:
        return Allowance()
    if person in waiting(await four_eyes.find_open(connection, merchant_id, now=now)):
        above = 0
    limit = approval_limit_of(merchant_id, person, above=above, now=now)
    return Allowance(limit, (await creators.find_sums(connection, [limit]))[limit])


async def submit(request: MerchantRequest, wanted: PaymentRequest) -> tuple[str, str]:
    """Make the batch, and return the address of its page and the message there. Raises the refusals of a payout.

    The batch has the form's idempotency key, so that a form that is sent twice makes one batch.
    """
    result = await request.parts.batches.create(
        batch_request_of_one(wanted, requester_of(request), now=request.parts.clock())
    )
    return f"{PATH}/{result.batch.id}", "batch-once" if result.is_replay else "batch-made"


async def find_submitted(connection: Conn, merchant_id: str, key: str) -> str | None:
    """The page of the batch that a form with this key has made, whatever the rule is now."""
    used = await batches.find_by_key(connection, merchant_id, key)
    return None if used is None else f"{PATH}/{used.batch.id}"

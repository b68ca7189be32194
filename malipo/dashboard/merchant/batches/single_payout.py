"""A single payout that somebody makes in the dashboard and that another must approve: a batch of one item."""

from malipo.dashboard.merchant.batches.decide import requester_of
from malipo.dashboard.merchant.batches.upload import PATH
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.db import Conn
from malipo.merchants.store import approval_rules
from malipo.payments.batches.request import batch_order_of_one
from malipo.payments.batches.store import batches
from malipo.payments.initiate import Order
from malipo.payments.transaction import Transaction, Type


async def needs_approval(connection: Conn, draft: Transaction) -> bool:
    """Whether the merchant's rule says that it takes another person."""
    if draft.type is not Type.DISBURSEMENT:
        return False
    return (await approval_rules.get(connection, draft.merchant_id)).needs_approval(draft.amount)


async def submit(request: MerchantRequest, order: Order) -> tuple[str, str]:
    """Make the batch. The page of it, and what to say there. Refusals are raised as those of a payout are.

    It has the idempotency key of the form, so a form that is sent twice makes one.
    """
    made = await request.service.batches.create(
        batch_order_of_one(order, requester_of(request), now=request.service.clock())
    )
    return f"{PATH}/{made.batch.id}", "batch-once" if made.is_replay else "batch-made"


async def find_submitted(connection: Conn, merchant_id: str, key: str) -> str | None:
    """The page of the batch that a form with this key has made, whatever the rule is now."""
    used = await batches.find_by_key(connection, merchant_id, key)
    return None if used is None else f"{PATH}/{used.batch.id}"

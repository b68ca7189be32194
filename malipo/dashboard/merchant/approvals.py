"""Finds the batches that the logged-in person may approve. The menu of every page shows their number, the overview
shows their sum."""

from malipo.dashboard.merchant.request import MerchantRequest
from malipo.db import Conn
from malipo.merchants.four_eyes import find_not_paying, find_open
from malipo.merchants.roles import Right
from malipo.payments.batches.approvers import ApproverRules, AwaitedApprovals, awaited_of
from malipo.payments.batches.store import awaiting


async def find_awaited(request: MerchantRequest) -> None:
    """Query only for a person who may approve, and only if the session says that something awaits approval."""
    session = request.session
    if session is None or not session.has_awaiting or not request.may(Right.APPROVE):
        return
    has_resets, now = session.has_resets, request.parts.clock()

    async def find(connection: Conn) -> AwaitedApprovals:
        found, rules = await awaiting.count_by_maker(connection, request.merchant_id, now=now)
        if rules is None:
            return AwaitedApprovals()
        approvers = ApproverRules(rules.takes_two)
        if has_resets:
            resets = await find_open(connection, request.merchant_id, now=now)
            not_paying = await find_not_paying(connection, request.merchant_id, now=now)
            approvers = ApproverRules(rules.takes_two, resets, not_paying)
        return awaited_of(request.person.email, found, approvers)

    request.awaited = await request.parts.queries.read(find)

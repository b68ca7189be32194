"""The payments that a new payment may duplicate: to or from the same number, or for the same order."""

from datetime import datetime

from malipo import clock, ids
from malipo.db import Conn
from malipo.payments.duplicate_warnings import LOOKED_BACK
from malipo.payments.listing.filters import TransactionFilter
from malipo.payments.search import query
from malipo.payments.store import refunds
from malipo.payments.store.refunds import PaymentWithRefunds
from malipo.payments.transaction import Transaction, Type

_COUNTRY = len("+255")
_MOST = 20  # of each kind, the latest: more would add nothing to a warning


async def find(connection: Conn, draft: Transaction, *, now: datetime) -> list[PaymentWithRefunds]:
    """Find them, with their corrections and refunds, by indexes only."""
    since = now - LOOKED_BACK
    if draft.type is Type.DISBURSEMENT:
        found = await _find_payouts(connection, draft, since)
    else:
        wanted = TransactionFilter(type=draft.type, amount=draft.amount, first=since)
        # There is no index of collections by number: every new collection would pay for it. The search index has
        # numbers.
        _, same = await query.page(connection, draft.merchant_id, wanted, draft.phone[_COUNTRY:], offset=0, limit=_MOST)
        found = {each.id for each in same if each.phone == draft.phone}
    if draft.order_reference is not None:
        found |= await _find_of_order(connection, draft)
    keys = [(draft.merchant_id, each) for each in sorted(found)]
    return list((await refunds.find(connection, keys)).values()) if keys else []


async def _find_payouts(connection: Conn, draft: Transaction, since: datetime) -> set[str]:
    rows = await connection.fetch(
        """
        SELECT t.id FROM transactions t
        WHERE t.merchant_id = $1 AND t.phone = $2 AND t.amount = $3 AND t.id >= $4 AND t.type = 'DISBURSEMENT'
        ORDER BY t.id DESC LIMIT $5
        """,
        draft.merchant_id,
        draft.phone,
        draft.amount,
        ids.first_of("txn_", clock.milliseconds(since)),
        _MOST,
    )
    return {row["id"] for row in rows}


async def _find_of_order(connection: Conn, draft: Transaction) -> set[str]:
    rows = await connection.fetch(
        """
        SELECT t.id FROM transactions t WHERE t.merchant_id = $1 AND t.order_reference = $2 AND t.type = $3
        ORDER BY t.id DESC LIMIT $4
        """,
        draft.merchant_id,
        draft.order_reference,
        draft.type,
        _MOST,
    )
    return {row["id"] for row in rows}

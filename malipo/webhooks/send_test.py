"""Sends a test event to an endpoint, so that its developer sees what the receiver answers."""

from datetime import datetime

import msgspec

from malipo import clock, ids
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.outbox.event import TEST_EVENT
from malipo.webhooks.manage_endpoints import get_active
from malipo.webhooks.store import delivery_queue


async def send_test(tx: Tx, merchant_id: str, endpoint_id: str, *, actor: Actor, now: datetime) -> str:
    """Create a test delivery, and return its id. Its body has the same fields as all others, so that receivers can read
    it."""
    endpoint = await get_active(tx, merchant_id, endpoint_id)
    event_id = ids.mint("evt_", now)
    new = delivery_queue.NewDelivery(endpoint.id, event_id, merchant_id, TEST_EVENT)
    await delivery_queue.insert_test(tx, new, _test_body(now), now=now)
    await audit_log.append(
        tx, actor, "webhook.tested", now=now, merchant_id=merchant_id, endpoint=endpoint.id, delivery=event_id
    )
    return event_id


def _test_body(now: datetime) -> str:
    """The body of a test event: a pending payment of nothing, which nobody can mistake for a sale."""
    transaction = {
        "id": "txn_test",
        "reference": "TEST",
        "type": "COLLECTION",
        "amount": 0,
        "fee": 0,
        "netAmount": 0,
        "channel": "MPESA",
        "status": "PENDING",
        "buyerPhone": "+255754000000",
        "buyerName": "Test",
        "description": "A test of this endpoint. No money has moved.",
        "metadata": {},
        "createdAt": clock.iso(now),
    }
    return msgspec.json.encode({"event": TEST_EVENT, "transaction": transaction}).decode()

"""Resends on request: a test delivery, one delivery again, or everything since a time (recover)."""

from datetime import datetime

import msgspec

from malipo import clock, ids
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Conflict, Missing
from malipo.outbox.event import TEST_EVENT
from malipo.webhooks.endpoint import Endpoint
from malipo.webhooks.manage_endpoints import NoSuchEndpoint
from malipo.webhooks.store import deliveries, delivery_history, endpoints

_MOST_AT_ONCE = 5000


class NoSuchDelivery(Missing):
    code = "delivery_not_found"

    def __init__(self) -> None:
        super().__init__("There is no delivery with this id at this endpoint.")


class EndpointOff(Conflict):
    code = "webhook_inactive"

    def __init__(self) -> None:
        super().__init__("The endpoint is switched off: set isActive to true first.")


async def send_test(tx: Tx, merchant_id: str, endpoint_id: str, *, actor: Actor, now: datetime) -> str:
    """A test delivery; its id. Its body has the same shape as all others, so receivers can read it."""
    endpoint = await _get_active(tx, merchant_id, endpoint_id)
    event_id = ids.mint("evt_", now)
    new = deliveries.New(endpoint.id, event_id, merchant_id, TEST_EVENT)
    await deliveries.insert_test(tx, new, _test_body(now), now=now)
    await _note(tx, actor, "webhook.tested", endpoint, now, delivery=event_id)
    return event_id


async def redeliver(tx: Tx, merchant_id: str, endpoint_id: str, event_id: str, *, actor: Actor, now: datetime) -> None:
    """Once more from the first try, whatever became of it before."""
    endpoint = await _get_active(tx, merchant_id, endpoint_id)
    if not await delivery_history.rearm(tx, endpoint.id, event_id, now=now):
        raise NoSuchDelivery
    await _note(tx, actor, "webhook.redelivered", endpoint, now, delivery=event_id)


async def recover(
    tx: Tx, merchant_id: str, endpoint_id: str, *, since: datetime, after: str | None, actor: Actor, now: datetime
) -> tuple[int, str | None]:
    """Everything since a time that the endpoint subscribes to and has not accepted: the next part, after an event.

    How many deliveries wait because of it, and the event to go on after; None at the end.
    """
    endpoint = await _get_active(tx, merchant_id, endpoint_id)
    recovered, last = await delivery_history.recover(
        tx, endpoint, since=since, after=after, most=_MOST_AT_ONCE, now=now
    )
    if recovered:
        await _note(tx, actor, "webhook.recovered", endpoint, now, since=clock.iso(since), deliveries=recovered)
    return recovered, last


async def _get_active(tx: Tx, merchant_id: str, endpoint_id: str) -> Endpoint:
    endpoint = await endpoints.get(tx, merchant_id, endpoint_id)
    if endpoint is None:
        raise NoSuchEndpoint
    if not endpoint.is_active:
        raise EndpointOff
    return endpoint


async def _note(tx: Tx, actor: Actor, what: str, endpoint: Endpoint, now: datetime, **details: object) -> None:
    await audit_log.append(tx, actor, what, now=now, merchant_id=endpoint.merchant_id, endpoint=endpoint.id, **details)


def _test_body(now: datetime) -> str:
    transaction = {
        "id": "txn_test",
        "reference": "TEST",
        "type": "COLLECTION",
        "amount": 1000,
        "fee": 0,
        "netAmount": 1000,
        "channel": "MPESA",
        "status": "COMPLETED",
        "buyerPhone": "+255754000000",
        "buyerName": "Test",
        "description": "A test of this endpoint. No money has moved.",
        "metadata": {},
        "createdAt": clock.iso(now),
        "completedAt": clock.iso(now),
    }
    return msgspec.json.encode({"event": TEST_EVENT, "transaction": transaction}).decode()

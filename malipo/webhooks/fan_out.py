"""Fan-out: numbers new events, adds them to the daily totals, and makes a delivery for each subscribed endpoint.

All of it is one commit. The worker may claim new deliveries in it, as far as it has room, so that most deliveries are
written once before they are sent and once after.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from malipo.db import Tx
from malipo.outbox import daily_totals, feed_numbers
from malipo.outbox.store import AnyEvent, PaymentEvent
from malipo.restore.store import send_counts
from malipo.webhooks.delivery_state import WebhookMessage
from malipo.webhooks.endpoint import Endpoint
from malipo.webhooks.notify_failed_payouts import notify_failed_payouts
from malipo.webhooks.store import delivery_queue, endpoints

MayClaim = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class FanOutResult:
    numbered: Sequence[AnyEvent]
    claimed: Sequence[WebhookMessage]
    waiting: frozenset[str]  # endpoints with deliveries that were not claimed

    @property
    def event_count(self) -> int:
        return len(self.numbered)


async def fan_out(
    tx: Tx,
    *,
    most: int,
    claim_id: str,
    lease_seconds: float,
    may_claim: MayClaim,
    now: datetime,
) -> FanOutResult:
    # Events get no numbers before the workers have compared the server with their marks: in a restored database these
    # numbers belonged to other events, and readers of the feed would miss the new ones.
    events = await feed_numbers.number(tx, most=most, condition=send_counts.IS_COMPARED)
    if not events:
        return FanOutResult((), (), frozenset())
    await daily_totals.add(tx, events)
    await notify_failed_payouts(tx, events, now=now)
    deliveries = pairs(events, await endpoints.find_active(tx, {event.merchant_id for event in events}))
    new: list[delivery_queue.NewDelivery] = []
    claimed: list[WebhookMessage] = []
    waiting: set[str] = set()
    for event, endpoint in deliveries:
        # Waiting deliveries go first: an endpoint is not sent new events before old ones.
        is_claimed = endpoint.id not in waiting and may_claim(endpoint.id)
        if is_claimed:
            payment_id = event.transaction_id if isinstance(event, PaymentEvent) else None
            claimed.append(WebhookMessage(endpoint, event.id, event.event, event.body, claim_id, payment_id))
        else:
            waiting.add(endpoint.id)
        claim = claim_id if is_claimed else None
        new.append(delivery_queue.NewDelivery(endpoint.id, event.id, event.merchant_id, event.event, claim))
    await delivery_queue.insert(tx, new, lease_seconds=lease_seconds, now=now)
    return FanOutResult(events, claimed, frozenset(waiting))


def pairs(events: Sequence[AnyEvent], listening: Sequence[Endpoint]) -> list[tuple[AnyEvent, Endpoint]]:
    """Each event with each endpoint of its merchant that subscribes to it, in the events' order. Pure."""
    by_merchant: dict[str, list[Endpoint]] = defaultdict(list)
    for endpoint in listening:
        by_merchant[endpoint.merchant_id].append(endpoint)
    return [
        (event, endpoint)
        for event in events
        for endpoint in by_merchant[event.merchant_id]
        if endpoint.wants(event.event)
    ]

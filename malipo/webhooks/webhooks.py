"""Tests an endpoint, and recovers missed events, when a merchant asks for it.

Both write through the queries of their caller, so that a person's writes use people's connections.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from malipo.audit_log.actor import Actor
from malipo.clock import Clock
from malipo.db.long_poll import LongPoll
from malipo.db.notify import Notifier
from malipo.db.queries import Queries
from malipo.encryption import Encryption
from malipo.webhooks import resend, send_test
from malipo.webhooks.delivery_state import DeliveryState
from malipo.webhooks.http_client import WebhookClient

# The topic of notifications that there is a delivery to resend.
WEBHOOKS_TOPIC = "webhooks"

# A test may take a little longer than a receiver may.
_TEST_MARGIN_SECONDS = 3


@dataclass(frozen=True)
class Webhooks:
    client: WebhookClient
    encryption: Encryption  # of the endpoints' secrets
    notifier: Notifier
    deliveries: LongPoll[tuple[str, str], tuple[str, int]]
    timeout_seconds: float
    clock: Clock

    def wake_sender(self) -> None:
        """Wake a worker: there is a delivery to resend."""
        self.notifier.notify(WEBHOOKS_TOPIC)

    async def test_endpoint(self, queries: Queries, merchant_id: str, endpoint_id: str, *, actor: Actor) -> str:
        """Send a test event, and wait for the receiver's answer or the timeout; the delivery's id."""
        event_id = await queries.write(
            lambda tx: send_test.send_test(tx, merchant_id, endpoint_id, actor=actor, now=self.clock())
        )
        self.wake_sender()
        seconds = self.timeout_seconds + _TEST_MARGIN_SECONDS
        await self.deliveries.until_changed((endpoint_id, event_id), (DeliveryState.PENDING, 0), seconds=seconds)
        return event_id

    async def recover(
        self, queries: Queries, merchant_id: str, endpoint_id: str, *, since: datetime, actor: Actor
    ) -> int:
        """Resend all events since a time that an endpoint has not accepted. Returns their number."""
        recovered, last, is_more = 0, None, True
        while is_more:  # In parts, each a commit of its own, so that no lock is held for long.
            act = partial(resend.recover, merchant_id=merchant_id, endpoint_id=endpoint_id, since=since, after=last)
            more, last = await queries.write(partial(act, actor=actor, now=self.clock()))
            recovered, is_more = recovered + more, last is not None
        self.wake_sender()
        return recovered

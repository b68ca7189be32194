"""The parts that pages of customers use. Their queries have connections of their own: see docs/pay-pages.md."""

from dataclasses import dataclass, field
from typing import Self

from malipo.accounts.signed_cookies import Cookies
from malipo.app.assemble import Service
from malipo.app.health import Health
from malipo.clock import Clock
from malipo.db.long_poll import LongPoll
from malipo.db.queries import Queries
from malipo.links.links import Links
from malipo.metrics.process_metrics import Metrics
from malipo.networks.routing import Networks
from malipo.pay_pages.idle_presses import IdlePresses
from malipo.pay_pages.shown_merchants import ShownMerchants
from malipo.payments.payments import Payments
from malipo.payments.store.transactions import Key
from malipo.payments.transaction import Status
from malipo.settings import Settings


@dataclass(frozen=True)
class PayParts:
    settings: Settings
    clock: Clock
    metrics: Metrics
    health: Health
    queries: Queries
    links: Links
    payments: Payments
    networks: Networks
    statuses: LongPoll[Key, Status]
    cookies: Cookies
    idle_presses: IdlePresses = field(default_factory=IdlePresses)
    shown_merchants: ShownMerchants = field(default_factory=ShownMerchants)

    @classmethod
    def of(cls, service: Service) -> Self:
        return cls(
            settings=service.settings,
            clock=service.clock,
            metrics=service.metrics,
            health=service.health,
            queries=service.customer_queries,
            links=service.links,
            payments=service.payments,
            networks=service.networks,
            statuses=service.long_polls.customers,
            cookies=service.accounts.cookies,
        )

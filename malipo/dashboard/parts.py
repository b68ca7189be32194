"""The parts that pages use. Their queries are those of people, so no page takes a connection from payments."""

from dataclasses import dataclass
from typing import Self

from malipo.app.accounts import Accounts
from malipo.app.assemble import Service
from malipo.app.health import Health
from malipo.clock import Clock
from malipo.db.long_poll import LongPoll
from malipo.db.notify import Notifier
from malipo.db.queries import Queries
from malipo.encryption import Encryption
from malipo.links.links import Links
from malipo.metrics.process_metrics import Metrics
from malipo.networks.routing import Networks
from malipo.payments.batches.batches import Batches
from malipo.payments.payments import Payments
from malipo.rate_limit.concurrency import ConcurrencyLimit
from malipo.recipients.look_up import RecipientNames
from malipo.settings import Settings
from malipo.settlement.settlements import Settlements
from malipo.turns import Turns
from malipo.webhooks.webhooks import Webhooks


@dataclass(frozen=True)
class PageParts:
    settings: Settings
    clock: Clock
    metrics: Metrics
    health: Health
    notifier: Notifier
    encryption: Encryption
    queries: Queries
    accounts: Accounts
    payments: Payments
    batches: Batches
    links: Links
    settlements: Settlements
    networks: Networks
    recipients: RecipientNames
    webhooks: Webhooks
    lists: LongPoll[str, str]
    live_streams: ConcurrencyLimit
    workbook_turns: Turns

    @classmethod
    def of(cls, service: Service) -> Self:
        settings, queries = service.settings, service.people_queries
        return cls(
            settings=settings,
            clock=service.clock,
            metrics=service.metrics,
            health=service.health,
            notifier=service.notifier,
            encryption=service.encryption,
            queries=queries,
            accounts=service.accounts,
            payments=service.payments,
            batches=service.batches,
            links=service.links,
            settlements=service.settlements,
            networks=service.networks,
            recipients=RecipientNames.of(settings, service.networks, queries, service.clock),
            webhooks=service.webhooks,
            lists=service.long_polls.lists,
            live_streams=ConcurrencyLimit(each=settings.live_streams_person, all_=settings.live_streams),
            workbook_turns=Turns(1),
        )

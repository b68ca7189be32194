"""The parts that routes use."""

import dataclasses
from dataclasses import dataclass
from typing import Self

from malipo.api.large_answers import LargeAnswers
from malipo.api.receipt_log_reads import LogReads
from malipo.app.accounts import Accounts
from malipo.app.assemble import Service
from malipo.app.health import Health
from malipo.app.long_polls import LongPolls
from malipo.clock import Clock
from malipo.db.queries import Queries
from malipo.links.links import Links
from malipo.merchants.check_api_key import AcceptedKeys, Authentication
from malipo.metrics.process_metrics import Metrics
from malipo.networks.routing import Networks
from malipo.payments.batches.batches import Batches
from malipo.payments.network_work import NetworkWork
from malipo.payments.payments import Payments
from malipo.recipients.look_up import RecipientNames
from malipo.settings import Settings
from malipo.settlement.settlements import Settlements
from malipo.turns import Turns
from malipo.webhooks.webhooks import Webhooks


@dataclass(frozen=True)
class ApiParts:
    settings: Settings
    clock: Clock
    metrics: Metrics
    health: Health
    large_answers: LargeAnswers
    log_reads: LogReads
    known_keys: AcceptedKeys
    queries: Queries  # on the pool of the caller: programs and people have one each
    authenticate: Authentication
    accounts: Accounts
    payments: Payments
    batches: Batches
    links: Links
    settlements: Settlements
    workbook_turns: Turns
    network_work: NetworkWork
    networks: Networks
    recipients: RecipientNames
    webhooks: Webhooks
    long_polls: LongPolls

    @classmethod
    def of(cls, service: Service) -> Self:
        return cls(
            settings=service.settings,
            clock=service.clock,
            metrics=service.metrics,
            health=service.health,
            large_answers=LargeAnswers(),
            log_reads=LogReads(service.customer_queries),
            known_keys=AcceptedKeys(),
            queries=service.queries,
            authenticate=service.authenticate,
            accounts=service.accounts,
            payments=service.payments,
            batches=service.batches,
            links=service.links,
            settlements=service.settlements,
            workbook_turns=Turns(1),
            network_work=service.network_work,
            networks=service.networks,
            recipients=RecipientNames.of(service.settings, service.networks, service.queries, service.clock),
            webhooks=service.webhooks,
            long_polls=service.long_polls,
        )

    def with_queries(self, queries: Queries) -> Self:
        """These parts, with queries on other connections."""
        recipients = RecipientNames.of(self.settings, self.networks, queries, self.clock)
        return dataclasses.replace(self, queries=queries, recipients=recipients)

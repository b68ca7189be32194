"""Builds the parts of a process from the settings, once. API, pages and worker each get only the parts that they
use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from malipo import clock as clocks
from malipo import randomness
from malipo.accounts.bearer_tokens import Tokens
from malipo.accounts.passwords import Passwords
from malipo.accounts.second_factor.check_code import CodeChecker
from malipo.accounts.signed_cookies import Cookies
from malipo.app.accounts import Accounts
from malipo.app.health import Health
from malipo.app.long_polls import LongPolls
from malipo.clock import Clock
from malipo.db import Database
from malipo.db.database_clock import ClockSkew
from malipo.db.group_commit import GroupCommits
from malipo.db.notify import Notifier
from malipo.db.queries import Queries
from malipo.db.readiness import ReadinessCheck
from malipo.db.standby import Standby
from malipo.encryption import Encryption
from malipo.http.client_address import UntrustedProxies
from malipo.links.links import Links
from malipo.merchants.check_api_key import Authentication
from malipo.merchants.invitations import Invitations
from malipo.merchants.login import Login
from malipo.merchants.sessions import Sessions
from malipo.metrics.process_metrics import Metrics
from malipo.networks.http.client import HttpClient
from malipo.networks.routing import Networks, connect
from malipo.operators.login import OperatorLogin
from malipo.payments.after_restore.fence import FenceInstallation
from malipo.payments.batches.batches import Batches
from malipo.payments.network_work import NetworkWork
from malipo.payments.payment_request import PaymentTerms
from malipo.payments.payments import Payments
from malipo.payments.status_signals import StatusSignals
from malipo.rate_limit.in_process import RequestsOfPeople
from malipo.rate_limit.sliding_window import RateClass
from malipo.restore.installation_monitor import InstallationMonitor
from malipo.settings import Settings
from malipo.settlement.settlements import Settlements
from malipo.turns import Turns
from malipo.webhooks.http_client import WebhookClient, client_of
from malipo.webhooks.send_attempt import Attempts
from malipo.webhooks.webhooks import Webhooks


@dataclass(frozen=True)
class Service:
    """All parts of a process. Only the code that starts a process holds this object: the servers, the worker and the
    tests."""

    settings: Settings
    clock: Clock
    metrics: Metrics
    notifier: Notifier
    encryption: Encryption
    queries: Queries  # for programs and workers
    people_queries: Queries  # for people
    customer_queries: Queries  # for pages of customers
    authenticate: Authentication
    accounts: Accounts
    payments: Payments
    batches: Batches
    links: Links
    settlements: Settlements
    network_work: NetworkWork
    networks: Networks
    webhooks: Webhooks
    attempts: Attempts
    health: Health
    fence: FenceInstallation
    long_polls: LongPolls
    _finish: tuple[Callable[[], Awaitable[None]], ...]

    async def finish(self) -> None:
        """Wait until all requests are answered, and close the HTTP clients."""
        self.long_polls.release()
        for finish in self._finish:
            await finish()


def assemble(
    settings: Settings,
    database: Database,
    *,
    clock: Clock = clocks.now,
    webhook_client: WebhookClient | None = None,
    people_database: Database | None = None,
    customer_database: Database | None = None,
    standby: Standby | None = None,
) -> Service:
    """Pages use their own database connections, if some are reserved for people and for customers."""
    people, customers = people_database or database, customer_database or database
    metrics = Metrics()
    metrics.watch_pool(in_use=lambda: database.in_use, idle=lambda: database.idle)
    if people is not database:
        metrics.watch_pool(in_use=lambda: people.in_use, idle=lambda: people.idle, whose="people_")
    health = _health(settings, database, metrics, clock)
    http_client, notifier = HttpClient(), Notifier(database)
    keys = settings.secret_keys or (randomness.token_hex(32),)
    encryption = Encryption(*keys)
    queries, people_queries, customer_queries = _queries(settings, database, people, customers, standby)
    long_polls = LongPolls.on(database, people, customers)
    commits = GroupCommits(database, metrics, patience_seconds=settings.database_patience_seconds)
    terms, signals = PaymentTerms.of(settings), StatusSignals(notifier, metrics)
    payments = Payments(commits, terms, signals, clock=clock)
    webhooks = Webhooks(
        client=webhook_client or client_of(settings),
        encryption=encryption,
        notifier=notifier,
        deliveries=long_polls.deliveries,
        timeout_seconds=settings.webhook_timeout_seconds,
        clock=clock,
    )
    return Service(
        settings=settings,
        clock=clock,
        metrics=metrics,
        notifier=notifier,
        encryption=encryption,
        queries=queries,
        people_queries=people_queries,
        customer_queries=customer_queries,
        authenticate=Authentication(commits, limits=_rate_limits(settings), clock=clock),
        accounts=_accounts(settings, people, keys, encryption, clock),
        payments=payments,
        network_work=NetworkWork(commits, settings, signals, clock=clock),
        networks=connect(settings, http_client),
        webhooks=webhooks,
        attempts=Attempts(commits, webhooks.client, encryption, metrics, settings, clock),
        batches=Batches(commits, terms, signals, clock=clock),
        links=Links(commits, payments, settings, clock=clock),
        settlements=Settlements(commits, settings, clock=clock),
        health=health,
        fence=FenceInstallation(queries, clock),
        long_polls=long_polls,
        _finish=(commits.finish, notifier.finish, http_client.close, webhooks.client.close),
    )


def _health(settings: Settings, database: Database, metrics: Metrics, clock: Clock) -> Health:
    health = Health(
        monitor=InstallationMonitor(database),
        readiness=ReadinessCheck(database, grace_seconds=settings.ready_grace_seconds),
        clock_skew=ClockSkew(database, clock),
        untrusted_proxies=UntrustedProxies(settings.trusted_proxies, clock),
    )
    metrics.watch_clock(lambda: health.clock_skew.seconds)
    metrics.watch_installation(
        fenced=lambda: health.monitor.is_fenced,
        held=lambda: health.monitor.is_held,
        epoch=lambda: health.monitor.epoch,
    )
    return health


def _queries(
    settings: Settings, database: Database, people: Database, customers: Database, standby: Standby | None
) -> tuple[Queries, Queries, Queries]:
    """The queries for programs and workers, those for people, and those for customers."""
    # Searches use at most half of the connections for people, so that other pages do not wait for searches.
    search_turns = Turns(max(settings.database_pool_people // 2, 1))

    def queries(own: Database) -> Queries:
        return Queries(
            own,
            patience_seconds=settings.database_patience_seconds,
            search_database=people,
            search_seconds=settings.database_people_seconds,
            search_turns=search_turns,
            standby=standby,
        )

    return queries(database), queries(people), queries(customers)


def _rate_limits(settings: Settings) -> dict[RateClass, int]:
    return {
        RateClass.CREATE: settings.rate_limit_create,
        RateClass.LIST: settings.rate_limit_list,
        RateClass.OTHER: settings.rate_limit_other,
    }


def _accounts(
    settings: Settings, people: Database, keys: tuple[str, ...], encryption: Encryption, clock: Clock
) -> Accounts:
    passwords, sessions, codes = Passwords(), Sessions(people, Tokens(*keys)), CodeChecker(people, encryption)
    return Accounts(
        login=Login(people, sessions, passwords, codes),
        invitations=Invitations(people),
        sessions=sessions,
        operators=OperatorLogin(people, passwords, codes),
        cookies=Cookies(*keys),
        requests=RequestsOfPeople(
            limit_session=settings.rate_limit_session, limit_person=settings.rate_limit_person, clock=clock
        ),
    )

"""Builds all parts from the settings, and offers the use cases to the API, the dashboard and the worker."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_changes
from datetime import datetime
from functools import partial
from typing import TypeVar

from malipo import clock as clocks
from malipo import log, randomness
from malipo.accounts.bearer_tokens import Tokens
from malipo.accounts.passwords import Passwords
from malipo.accounts.second_factor.check_code import Codes
from malipo.accounts.tokens import Cookies
from malipo.app.batch_requests import BatchRequests
from malipo.app.commit_groups import CommitGroups, granted
from malipo.app.queries import Queries, Query
from malipo.approvals import limits
from malipo.approvals.decide import SYSTEM
from malipo.audit_log.actor import Actor
from malipo.clock import Clock
from malipo.db import Database, DataError, Tx
from malipo.db.database_clock import ClockSkew
from malipo.db.notify import LongPoll, Notifier
from malipo.db.readiness import ReadinessCheck
from malipo.db.standby import Standby
from malipo.encryption import Encryption
from malipo.errors import OutcomeUnknown, Unavailable
from malipo.http.client_address import UntrustedProxies
from malipo.ledger import statement
from malipo.merchants.authenticate import AccessRequest, Caller
from malipo.merchants.invitations import Invitations
from malipo.merchants.login import Login
from malipo.merchants.sessions import Sessions
from malipo.metrics import Metrics
from malipo.networks.connector import Channel
from malipo.networks.http.client import HttpClient
from malipo.networks.routing import Networks, connect
from malipo.operators.login import OperatorLogin
from malipo.outbox import feed
from malipo.payments.after_restore.fence import fence
from malipo.payments.cancel import Cancellation
from malipo.payments.claim_for_sending import Claim, Claimed
from malipo.payments.counts import counter
from malipo.payments.derived_network_keys import DerivedKeys
from malipo.payments.initiate import Initiated, Order
from malipo.payments.lapse import fail_unconnected_payouts, lapse
from malipo.payments.listing import transaction_list
from malipo.payments.payment_request import Terms
from malipo.payments.refunds.refundable import AdoptedRefund
from malipo.payments.settle import Report, Settled
from malipo.payments.status_effects import event_of
from malipo.payments.store import dispatches, transactions
from malipo.payments.store.transactions import UNIQUE_KEYS
from malipo.payments.store.transactions import Key as TransactionKey
from malipo.payments.transaction import Status, Transaction
from malipo.rate_limit.concurrency import ConcurrencyLimit, Turns
from malipo.rate_limit.in_process import InProcessLimits
from malipo.restore.monitor import InstallationMonitor
from malipo.settings import Settings
from malipo.webhooks import resend, send_test
from malipo.webhooks.delivery_state import Attempt, Delivery, State
from malipo.webhooks.http_client import WebhookClient, client_of
from malipo.webhooks.store import delivery_history

Found = TypeVar("Found")

# Topics of notifications, beside the channels: there is a new event, or a delivery to resend.
EVENTS_TOPIC = "events"
WEBHOOKS_TOPIC = "webhooks"

_MOST_LAPSED = 500
# A test may take a little longer than a receiver may.
_TEST_MARGIN_SECONDS = 3


@dataclass(frozen=True)
class Service:
    settings: Settings
    clock: Clock
    clock_skew: ClockSkew
    untrusted_proxies: UntrustedProxies
    standing: InstallationMonitor
    readiness: ReadinessCheck
    metrics: Metrics
    database: Database
    people_database: Database
    person_limits: InProcessLimits
    live_streams: ConcurrencyLimit
    statuses: LongPoll[TransactionKey, Status]
    feeds: LongPoll[str, int]
    lists: LongPoll[str, str]
    deliveries: LongPoll[tuple[str, str], tuple[str, int]]
    login: Login
    invitations: Invitations
    sessions: Sessions
    operators: OperatorLogin
    cookies: Cookies
    terms: Terms
    networks: Networks
    notifier: Notifier
    encryption: Encryption
    webhook_client: WebhookClient
    _http_client: HttpClient
    _derived_keys: DerivedKeys
    _large_answers: Turns
    groups: CommitGroups
    batches: BatchRequests
    queries: Queries

    @classmethod
    def assemble(
        cls,
        settings: Settings,
        database: Database,
        *,
        clock: Clock = clocks.now,
        webhook_client: WebhookClient | None = None,
        people_database: Database | None = None,
        standby: Standby | None = None,
    ) -> Service:
        """What people read and write in pages goes through connections of their own, where there are such."""
        people = people_database or database
        metrics = Metrics()
        metrics.watch_pool(in_use=lambda: database.in_use, idle=lambda: database.idle)
        if people is not database:
            metrics.watch_pool(in_use=lambda: people.in_use, idle=lambda: people.idle, whose="people_")
        clock_skew = ClockSkew(database, clock)
        metrics.watch_clock(lambda: clock_skew.seconds)
        standing = InstallationMonitor(database)
        metrics.watch_installation(
            fenced=lambda: standing.is_fenced, held=lambda: standing.is_held, epoch=lambda: standing.epoch
        )

        http_client = HttpClient()
        passwords = Passwords()
        keys = settings.secret_keys or (randomness.token_hex(32),)
        terms = Terms.of(settings)
        sessions = Sessions(people, Tokens(*keys))
        encryption = Encryption(*keys)
        codes = Codes(people, encryption)
        groups, notifier = CommitGroups.assemble(settings, database, metrics, clock=clock), Notifier(database)
        return cls(
            settings=settings,
            clock=clock,
            clock_skew=clock_skew,
            untrusted_proxies=UntrustedProxies(settings.trusted_proxies, clock),
            standing=standing,
            readiness=ReadinessCheck(database, grace_seconds=settings.ready_grace_seconds),
            metrics=metrics,
            database=database,
            people_database=people,
            person_limits=InProcessLimits(),
            live_streams=ConcurrencyLimit(each=settings.live_streams_person, all_=settings.live_streams),
            statuses=LongPoll(database, transactions.find_statuses),
            feeds=LongPoll(database, feed.find_latest),
            lists=LongPoll(people, transaction_list.find_versions),
            deliveries=LongPoll(people, delivery_history.find_states),
            login=Login(people, sessions, passwords, codes),
            invitations=Invitations(people),
            sessions=sessions,
            operators=OperatorLogin(people, passwords, codes),
            cookies=Cookies(*keys),
            terms=terms,
            networks=connect(settings, http_client),
            notifier=notifier,
            encryption=encryption,
            webhook_client=webhook_client or client_of(settings),
            _http_client=http_client,
            _derived_keys=DerivedKeys(database, terms),
            _large_answers=Turns(1),
            groups=groups,
            batches=BatchRequests(groups, notifier, metrics, EVENTS_TOPIC),
            queries=Queries(settings, database, people_database=people, standby=standby),
        )

    @property
    def for_people(self) -> Service:
        """The same service. Its reads and rare writes share a few connections, whose statements may not take long."""
        return with_changes(self, database=self.people_database, queries=self.queries.on(self.people_database))

    async def note_limits(self) -> None:
        """Once, when the process begins: what operators may do alone, for commands to read."""
        await self.standing.schema.until(is_served=True)
        await limits.note_at_start(self.database, self.settings, actor=Actor(SYSTEM, "service"), clock=self.clock)

    def admit_person(self, session_id: str, person_id: str) -> None:
        """Count a request of somebody who is logged in. RateLimited if there were too many."""
        self.person_limits.admit(
            (session_id, self.settings.rate_limit_session),
            (person_id, self.settings.rate_limit_person),
            now_ms=clocks.milliseconds(self.clock()),
        )

    async def wait_with_large_answer(self) -> None:
        """One goes out in a turn of the loop, however many strangers want one: payments are answered in between."""
        async with self._large_answers.taken(seconds=20):
            await asyncio.sleep(0)

    async def authenticate(self, request: AccessRequest) -> Caller:
        try:
            return granted(await self.groups.authenticate(request))
        except OutcomeUnknown:
            # It does not matter whether it was counted: the request itself has not begun.
            raise Unavailable from None

    async def initiate(self, order: Order) -> Initiated:
        order = await self._derived_keys.give(order)
        try:
            initiated = granted(await self.groups.initiate(order))
        except DataError as error:
            if error.constraint not in UNIQUE_KEYS:
                raise
            if order.draft is not None and order.draft.refund_of is not None:
                raise AdoptedRefund from error
            assert order.draft is not None
            if order.draft.is_key_derived and (found := await self._derived_keys.find_replayed(order)):
                return found
            # The reference exists already. Nothing was written, so another one is tried.
            initiated = granted(await self.groups.initiate(self._derived_keys.with_new_reference(order)))
        if not initiated.is_replay:
            self._note(initiated.transaction)
            self.notifier.notify(initiated.transaction.channel)
        return initiated

    async def fence(self, reason: str, *, epoch: int, beyond: int = 0) -> int:
        """The database was restored: nothing is sent until operators release it. The new epoch."""
        actor = Actor("malipo", socket.gethostname())
        return await self.write(lambda tx: fence(tx, reason, actor=actor, now=self.clock(), epoch=epoch, beyond=beyond))

    async def take_back(self, claim: Claim) -> None:
        """Undo a claim of which nothing was sent."""
        async with self.database.begin() as tx:
            await dispatches.take_back(tx, claim.id)

    async def cancel(self, cancellation: Cancellation) -> Transaction:
        outcome = granted(await self.groups.cancel(cancellation))
        if outcome.has_moved:
            self._note(outcome.transaction)
        return outcome.transaction

    async def claim_for_sending(self, claim: Claim) -> Claimed:
        taken = await self.groups.claim(claim)
        for each in [*taken.to_send, *taken.lapsed]:
            self._note(each)
        return taken

    async def lapse(self, channels: Sequence[Channel], *, connector: str | None) -> None:
        """End the collections that nobody could send in time, while their connector is down or there is none."""
        async with self.database.begin() as tx:
            lapsed = await lapse(
                tx,
                channels,
                connector=connector,
                lapse_seconds=self.settings.lapse_seconds,
                most=_MOST_LAPSED,
                now=self.clock(),
            )
        for each in lapsed:
            self._note(each)

    async def fail_unconnected_payouts(self, channels: Sequence[Channel]) -> None:
        """End the payouts that waited too long on channels that are not connected."""
        async with self.database.begin() as tx:
            failed = await fail_unconnected_payouts(
                tx,
                channels,
                lapse_seconds=self.settings.payout_lapse_seconds,
                most=_MOST_LAPSED,
                now=self.clock(),
            )
        for each in failed:
            self._note(each)

    async def settle(self, report: Report) -> Settled | None:
        settled = await self.groups.settle(report)
        if settled is not None and settled.is_merchant_notified:
            self.notifier.notify(EVENTS_TOPIC)
        if settled is not None and settled.transaction.status is not settled.before:
            self._note(settled.transaction)
            log.info(
                "payment.settled",
                transaction=settled.transaction.id,
                status=settled.transaction.status,
                by=report.received.source,
                network=report.received.connector,
            )
        return settled

    def _note(self, transaction: Transaction) -> None:
        """Count the status that a transaction has reached, and wake the fan-out if there is an event of it."""
        self.metrics.count_transaction(transaction.type, transaction.channel, transaction.status)
        if event_of(transaction) is not None:
            self.notifier.notify(EVENTS_TOPIC)

    def wake_deliveries(self) -> None:
        """Wake a worker: there is a delivery to resend."""
        self.notifier.notify(WEBHOOKS_TOPIC)

    async def test_endpoint(self, merchant_id: str, endpoint_id: str, *, actor: Actor) -> str:
        """Send a test event, and wait for the receiver's answer or the timeout; the delivery's id."""
        event_id = await self.write(
            lambda tx: send_test.send_test(tx, merchant_id, endpoint_id, actor=actor, now=self.clock())
        )
        self.wake_deliveries()
        seconds = self.settings.webhook_timeout_seconds + _TEST_MARGIN_SECONDS
        await self.deliveries.until_changed((endpoint_id, event_id), (State.PENDING, 0), seconds=seconds)
        return event_id

    async def recover(self, merchant_id: str, endpoint_id: str, *, since: datetime, actor: Actor) -> int:
        """Resend all events since a time that an endpoint has not accepted; how many."""
        recovered, last, is_more = 0, None, True
        while is_more:  # In parts, each a commit of its own, so that no lock is held for long.
            act = partial(resend.recover, merchant_id=merchant_id, endpoint_id=endpoint_id, since=since, after=last)
            more, last = await self.write(partial(act, actor=actor, now=self.clock()))
            recovered, is_more = recovered + more, last is not None
        self.wake_deliveries()
        return recovered

    async def record_attempt(self, attempt: Attempt) -> Delivery | None:
        delivery = await self.groups.record_attempt(attempt)
        self.metrics.count_attempt(attempt.http_status, attempt.duration_ms / 1000)
        return delivery

    async def read(self, query: Query[Found]) -> Found:
        return await self.queries.read(query)

    async def read_snapshot(self, query: Query[Found], *, is_search: bool = False) -> Found:
        return await self.queries.read_snapshot(query, is_search=is_search)

    async def write(self, act: Callable[[Tx], Awaitable[Found]]) -> Found:
        return await self.queries.write(act)

    async def count(self, *, least: int = counter.LEAST) -> bool:
        """Update the rollups of payments and statements. Whether more may be waiting."""
        async with self.database.begin() as tx:
            is_more = await counter.count(tx, least=least)
        async with self.database.begin() as tx:
            return await statement.count(tx, least=least) or is_more

    def release_readers(self) -> None:
        """End all long polls now."""
        for each in (self.statuses, self.feeds, self.lists, self.deliveries):
            each.release()

    async def finish(self) -> None:
        """Return when all requests are answered, and close the clients."""
        self.release_readers()
        await self.groups.finish()
        await self.notifier.finish()
        await self._http_client.close()
        await self.webhook_client.close()

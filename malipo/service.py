"""The parts, assembled once: what the API, the pages and the worker hand their work to."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from msgspec.structs import replace

from malipo import clock as clocks
from malipo import ids, log
from malipo.access.passwords import Passwords
from malipo.access.tokens import Cookies, Tokens
from malipo.audit_log.actor import Actor
from malipo.clock import Clock
from malipo.db import Conn, Database, DataError, Tx
from malipo.db.clock_skew import ClockSkew
from malipo.db.group_commit import Act, GroupCommit
from malipo.db.long_poll import LongPoll
from malipo.db.notify import Notifier
from malipo.encryption import Encryption
from malipo.errors import OutcomeUnknown, Refusal, Unavailable
from malipo.installation.monitor import InstallationMonitor
from malipo.installation.state import Closed
from malipo.ledger import statement_counts
from malipo.merchants.authenticate import AccessRequest, Authenticate, Caller
from malipo.merchants.login import Login
from malipo.merchants.sessions import Sessions
from malipo.metrics import Metrics
from malipo.networks.connector import Channel
from malipo.networks.http.client import HttpClient
from malipo.networks.routing import Networks, connect
from malipo.operators.login import OperatorLogin
from malipo.outbox import feed
from malipo.payments.answer_effects import Settled
from malipo.payments.cancel import Cancel, Cancellation
from malipo.payments.claim_for_sending import Claim, Claimed, ClaimForSending
from malipo.payments.counts import counter
from malipo.payments.derived_network_keys import DerivedKeys
from malipo.payments.dispatch import Rules
from malipo.payments.initiate import Initiate, Initiated, Order
from malipo.payments.lapse import lapse
from malipo.payments.listing import transaction_list
from malipo.payments.payment_request import Terms
from malipo.payments.settle import Report, Settle
from malipo.payments.status_effects import event_of
from malipo.payments.status_writer import Outcome
from malipo.payments.store import dispatch_claims, transactions
from malipo.payments.store.transactions import Key as TransactionKey
from malipo.payments.transaction import Status, Transaction
from malipo.rate_limit.sliding_window import RateClass
from malipo.restore.fence import fence
from malipo.settings import Settings
from malipo.webhooks import resend
from malipo.webhooks.delivery import Attempt, Delivery, State
from malipo.webhooks.http_client import WebhookClient
from malipo.webhooks.send_delivery import Record
from malipo.webhooks.store import delivery_history

Granted = TypeVar("Granted", Caller, Initiated, Outcome)
Found = TypeVar("Found")

# Topics of notifications, beside the channels: something was told, or a delivery was asked for.
EVENTS_TOPIC = "events"
WEBHOOKS_TOPIC = "webhooks"

_MOST_LAPSED = 500
# A test may take a little longer than a receiver may.
_TEST_MARGIN_SECONDS = 3
# Everything that a worker may have under way can be written down at once.
_MOST_RECORDED = 4096
# A key that is only looked up, or a page that is only read, is not worth ten seconds of anybody's time.
_READING_PATIENCE_SECONDS = 3.0


@dataclass(frozen=True)
class Service:
    settings: Settings
    clock: Clock
    clock_skew: ClockSkew
    standing: InstallationMonitor
    metrics: Metrics
    database: Database
    statuses: LongPoll[TransactionKey, Status]
    feeds: LongPoll[str, int]
    lists: LongPoll[str, str]
    deliveries: LongPoll[tuple[str, str], tuple[str, int]]
    login: Login
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
    _authenticate: GroupCommit[AccessRequest, Caller | Refusal]
    _initiate: GroupCommit[Order, Initiated | Refusal | Closed]
    _cancel: GroupCommit[Cancellation, Outcome | Refusal | Closed]
    _claim: GroupCommit[Claim, Claimed]
    _settle: GroupCommit[Report, Settled | None]
    _record_attempt: GroupCommit[Attempt, Delivery | None]

    @classmethod
    def assemble(cls, settings: Settings, database: Database, *, clock: Clock = clocks.now) -> Service:
        patience = settings.database_patience_seconds

        if settings.webhook_allow_private:
            log.warning(
                "webhook.private_allowed",
                message="MALIPO_WEBHOOK_ALLOW_PRIVATE is on: webhooks may go to private addresses and over plain http. "
                "It is for local work only.",
            )
        metrics = Metrics()
        metrics.watch_pool(in_use=lambda: database.in_use, idle=lambda: database.idle)
        clock_skew = ClockSkew(database, clock)
        metrics.watch_clock(lambda: clock_skew.seconds)
        standing = InstallationMonitor(database)
        metrics.watch_installation(
            fenced=lambda: standing.is_fenced, held=lambda: standing.is_held, epoch=lambda: standing.epoch
        )

        def group(
            name: str, act: Act[Any, Any], patience_seconds: float = patience, **options: Any
        ) -> GroupCommit[Any, Any]:
            made = GroupCommit(
                database, act, patience_seconds=patience_seconds, observe=metrics.observer_of(name), **options
            )
            metrics.watch_queue(name, lambda: made.depth)
            return made

        http_client = HttpClient()
        passwords = Passwords()
        keys = [settings.secret_key or secrets.token_hex(32)]
        if settings.secret_key_previous is not None:
            keys.append(settings.secret_key_previous)
        rules = Rules.of(settings)
        limits = {
            RateClass.CREATE: settings.rate_limit_create,
            RateClass.LIST: settings.rate_limit_list,
            RateClass.OTHER: settings.rate_limit_other,
        }
        terms = Terms.of(settings)
        sessions = Sessions(database, Tokens(*keys))
        return cls(
            settings=settings,
            clock=clock,
            clock_skew=clock_skew,
            standing=standing,
            metrics=metrics,
            database=database,
            statuses=LongPoll(database, transactions.find_statuses),
            feeds=LongPoll(database, feed.find_latest),
            lists=LongPoll(database, transaction_list.find_versions),
            deliveries=LongPoll(database, delivery_history.find_states),
            login=Login(database, sessions, passwords),
            sessions=sessions,
            operators=OperatorLogin(database, passwords),
            cookies=Cookies(*keys),
            terms=terms,
            networks=connect(settings, http_client),
            notifier=Notifier(database),
            encryption=Encryption(*keys),
            webhook_client=WebhookClient(
                allow_private=settings.webhook_allow_private,
                ports=settings.webhook_ports,
                timeout_seconds=settings.webhook_timeout_seconds,
            ),
            _http_client=http_client,
            _derived_keys=DerivedKeys(database, terms, patience_seconds=_READING_PATIENCE_SECONDS),
            _authenticate=group(
                "authenticate",
                Authenticate(limits=limits, clock=clock),
                min(patience, _READING_PATIENCE_SECONDS),
                needs_transaction=False,
            ),
            _initiate=group("initiate", Initiate(clock=clock)),
            _cancel=group("cancel", Cancel(clock=clock)),
            _claim=group("submit", ClaimForSending(clock=clock)),
            _settle=group("settle", Settle(clock=clock, rules=rules, credits_automatically=settings.credit_by_itself)),
            _record_attempt=group(
                "record_attempt",
                Record(clock=clock, retry_seconds=settings.webhook_retry_seconds),
                most=_MOST_RECORDED,
            ),
        )

    async def authenticate(self, request: AccessRequest) -> Caller:
        try:
            return _granted(await self._authenticate(request))
        except OutcomeUnknown:
            # Whether it was counted is of no consequence: the request itself has not begun.
            raise Unavailable from None

    async def initiate(self, order: Order) -> Initiated:
        order = await self._derived_keys.give(order)
        try:
            initiated = _granted(await self._initiate(order))
        except DataError as error:
            if error.constraint not in ("transactions_reference_is_unique", "transactions_network_key_is_unique"):
                raise
            if order.draft is not None and order.draft.is_key_derived:
                return await self._derived_keys.replay(order.draft)
            # Two references met. Nothing was written, so another one may be drawn.
            assert order.draft is not None
            suffix = ids.suffix(order.draft.created_at)
            draft = replace(order.draft, reference=self.terms.reference_of(suffix), network_key=suffix)
            initiated = _granted(await self._initiate(replace(order, draft=draft)))
        if not initiated.is_replay:
            self._note(initiated.transaction)
            self.notifier.notify(initiated.transaction.channel)
        return initiated

    async def fence(self, reason: str, *, epoch: int, beyond: int = 0) -> int:
        """The database is not the one that it was: nothing is sent until operators have looked. The new epoch."""
        actor = Actor("malipo", socket.gethostname())
        return await self.write(lambda tx: fence(tx, reason, actor=actor, now=self.clock(), epoch=epoch, beyond=beyond))

    async def take_back(self, claim: Claim) -> None:
        """What was claimed has not left us."""
        async with self.database.begin() as tx:
            await dispatch_claims.take_back(tx, claim.id)

    async def cancel(self, cancellation: Cancellation) -> Transaction:
        outcome = _granted(await self._cancel(cancellation))
        if outcome.has_moved:
            self._note(outcome.transaction)
        return outcome.transaction

    async def claim_for_sending(self, claim: Claim) -> Claimed:
        taken = await self._claim(claim)
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

    async def settle(self, report: Report) -> Settled | None:
        settled = await self._settle(report)
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
        """A transaction has reached a status: that is counted, and whoever tells of it is woken."""
        self.metrics.count_transaction(transaction.type, transaction.channel, transaction.status)
        if event_of(transaction) is not None:
            self.notifier.notify(EVENTS_TOPIC)

    def wake_deliveries(self) -> None:
        """Somebody has asked for a delivery."""
        self.notifier.notify(WEBHOOKS_TOPIC)

    async def test_endpoint(self, merchant_id: str, endpoint_id: str, *, actor: Actor) -> str:
        """Send a test, and wait for what the receiver says, as long as it may take; the delivery's id."""
        event_id = await self.write(
            lambda tx: resend.send_test(tx, merchant_id, endpoint_id, actor=actor, now=self.clock())
        )
        self.wake_deliveries()
        seconds = self.settings.webhook_timeout_seconds + _TEST_MARGIN_SECONDS
        await self.deliveries.until_changed((endpoint_id, event_id), (State.PENDING, 0), seconds=seconds)
        return event_id

    async def recover(self, merchant_id: str, endpoint_id: str, *, since: datetime, actor: Actor) -> int:
        """Send everything since a time that an endpoint has not taken; how many."""
        recovered, last, is_more = 0, None, True
        while is_more:  # A commit for every so many: nobody waits long for a lock.
            act = partial(resend.recover, merchant_id=merchant_id, endpoint_id=endpoint_id, since=since, after=last)
            more, last = await self.write(partial(act, actor=actor, now=self.clock()))
            recovered, is_more = recovered + more, last is not None
        self.wake_deliveries()
        return recovered

    async def record_attempt(self, attempt: Attempt) -> Delivery | None:
        delivery = await self._record_attempt(attempt)
        self.metrics.count_attempt(attempt.http_status, attempt.duration_ms / 1000)
        return delivery

    async def read(self, query: Callable[[Conn], Awaitable[Found]]) -> Found:
        return await self.database.ask(query, patience_seconds=_READING_PATIENCE_SECONDS)

    async def read_snapshot(self, query: Callable[[Conn], Awaitable[Found]]) -> Found:
        """A read of several statements that must agree with each other."""
        return await self.database.ask(query, patience_seconds=_READING_PATIENCE_SECONDS, is_snapshot=True)

    async def write(self, act: Callable[[Tx], Awaitable[Found]]) -> Found:
        """One rare write that commits alone, such as a new key. Done again if nothing can have happened."""
        return await self.database.write(act, patience_seconds=_READING_PATIENCE_SECONDS)

    async def count(self, *, least: int = counter.LEAST) -> bool:
        """Count payments that have ended and lines of statements, for their readers. Whether more may be waiting."""
        async with self.database.begin() as tx:
            is_more = await counter.count(tx, least=least)
        async with self.database.begin() as tx:
            return await statement_counts.count(tx, least=least) or is_more

    def release_readers(self) -> None:
        """Let everybody who waits for news go with what there is."""
        self.statuses.release()
        self.feeds.release()
        self.lists.release()
        self.deliveries.release()

    async def finish(self) -> None:
        """Answer everybody who has asked."""
        self.release_readers()
        groups = (self._authenticate, self._initiate, self._cancel, self._claim, self._settle, self._record_attempt)
        await asyncio.gather(*(each.finish() for each in groups))
        await self.notifier.finish()
        await self._http_client.close()
        await self.webhook_client.close()


def _granted(answer: Granted | Refusal | Closed) -> Granted:
    """Inside a batch a refusal is an answer like any other; in the API it is raised."""
    if isinstance(answer, Refusal | Closed):
        raise answer
    return answer

"""The parts, assembled once: what every door hands its work to."""

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
from malipo.clock import Clock
from malipo.db import Conn, ConnectionLost, Contention, Database, DataError, Tx
from malipo.db.bell import Bell
from malipo.db.clock_difference import ClockDifference
from malipo.db.group import Act, Group
from malipo.db.watch import Watch
from malipo.errors import OutcomeUnknown, Refusal, Unavailable
from malipo.installation import network_keys
from malipo.installation import store as installation
from malipo.installation.state import Closed
from malipo.installation.watch import InstallationWatch
from malipo.ledger import tallying as statement_tallying
from malipo.limits.window import RateClass
from malipo.merchants.admit import Admit, Admitted, Knock
from malipo.merchants.login import Login
from malipo.merchants.passwords import Passwords
from malipo.merchants.tokens import Cookies, Tokens
from malipo.metrics import Metrics
from malipo.networks.connect import Networks, connect
from malipo.networks.contract import Channel
from malipo.networks.wire import Wire
from malipo.outbox import feed
from malipo.payments import tallying
from malipo.payments.ask import Terms
from malipo.payments.cancel import Cancel, Cancellation
from malipo.payments.effects import event_of
from malipo.payments.idempotency import KeyReused
from malipo.payments.initiate import Initiate, Initiated, Order
from malipo.payments.pursuit import Rules
from malipo.payments.record import Outcome
from malipo.payments.settle import Report, Settle, Settled
from malipo.payments.store import dispatches, listing, transactions
from malipo.payments.store.transactions import Key as TransactionKey
from malipo.payments.submit import Claim, Submit, Taken, lapse
from malipo.payments.transaction import Status, Transaction
from malipo.restore.fence import fence
from malipo.seal import Seal
from malipo.settings import Settings
from malipo.trail.login import OperatorLogin
from malipo.trail.store import Actor
from malipo.webhooks import resend
from malipo.webhooks.deliver import Record
from malipo.webhooks.delivery import Attempt, Delivery, State
from malipo.webhooks.post import Post
from malipo.webhooks.store import history

Granted = TypeVar("Granted", Admitted, Initiated, Outcome)
Found = TypeVar("Found")

# What the bell is rung for, beside a channel: something was told, or a delivery was asked for.
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
    clock_difference: ClockDifference
    standing: InstallationWatch
    metrics: Metrics
    database: Database
    statuses: Watch[TransactionKey, Status]
    feeds: Watch[str, int]
    lists: Watch[str, str]
    deliveries: Watch[tuple[str, str], tuple[str, int]]
    login: Login
    operators: OperatorLogin
    cookies: Cookies
    terms: Terms
    networks: Networks
    bell: Bell
    seal: Seal
    post: Post
    _wire: Wire
    _key_secret: list[bytes]  # read once: it never changes
    _admit: Group[Knock, Admitted | Refusal]
    _initiate: Group[Order, Initiated | Refusal | Closed]
    _cancel: Group[Cancellation, Outcome | Refusal | Closed]
    _submit: Group[Claim, Taken]
    _settle: Group[Report, Settled | None]
    _record_attempt: Group[Attempt, Delivery | None]

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
        clock_difference = ClockDifference(database, clock)
        metrics.watch_clock(lambda: clock_difference.seconds)
        standing = InstallationWatch(database)
        metrics.watch_installation(
            fenced=lambda: standing.is_fenced, held=lambda: standing.is_held, epoch=lambda: standing.epoch
        )

        def group(name: str, act: Act[Any, Any], patience_seconds: float = patience, **options: Any) -> Group[Any, Any]:
            made = Group(database, act, patience_seconds=patience_seconds, observe=metrics.observer_of(name), **options)
            metrics.watch_queue(name, lambda: made.depth)
            return made

        wire = Wire()
        passwords = Passwords()
        keys = [settings.secret_key or secrets.token_hex(32)]
        if settings.secret_key_previous is not None:
            keys.append(settings.secret_key_previous)
        rules = Rules(
            poll_seconds=settings.poll_seconds,
            not_found_seconds=settings.not_found_seconds,
            not_indexed_seconds=settings.not_indexed_seconds,
            not_indexed_answers=settings.not_indexed_answers,
            follow_up_seconds=settings.follow_up_seconds,
        )
        limits = {
            RateClass.CREATE: settings.rate_limit_create,
            RateClass.LIST: settings.rate_limit_list,
            RateClass.OTHER: settings.rate_limit_other,
        }
        return cls(
            settings=settings,
            clock=clock,
            clock_difference=clock_difference,
            standing=standing,
            metrics=metrics,
            database=database,
            statuses=Watch(database, transactions.find_statuses),
            feeds=Watch(database, feed.find_latest),
            lists=Watch(database, listing.find_versions),
            deliveries=Watch(database, history.find_states),
            login=Login(database, Tokens(*keys), passwords),
            operators=OperatorLogin(database, passwords),
            cookies=Cookies(*keys),
            terms=Terms(
                settings.reference_prefix,
                {
                    Channel.MPESA: settings.max_amount_mpesa,
                    Channel.TIGO_PESA: settings.max_amount_tigo_pesa,
                    Channel.AIRTEL_MONEY: settings.max_amount_airtel_money,
                    Channel.HALOPESA: settings.max_amount_halopesa,
                },
            ),
            networks=connect(settings, wire),
            bell=Bell(database),
            seal=Seal(*keys),
            post=Post(
                allow_private=settings.webhook_allow_private,
                ports=settings.webhook_ports,
                timeout_seconds=settings.webhook_timeout_seconds,
            ),
            _wire=wire,
            _key_secret=[],
            _admit=group(
                "admit",
                Admit(limits=limits, clock=clock),
                min(patience, _READING_PATIENCE_SECONDS),
                needs_transaction=False,
            ),
            _initiate=group("initiate", Initiate(clock=clock)),
            _cancel=group("cancel", Cancel(clock=clock)),
            _submit=group("submit", Submit(clock=clock)),
            _settle=group("settle", Settle(clock=clock, rules=rules, credits_by_itself=settings.credit_by_itself)),
            _record_attempt=group(
                "record_attempt",
                Record(clock=clock, retry_seconds=settings.webhook_retry_seconds),
                most=_MOST_RECORDED,
            ),
        )

    async def admit(self, knock: Knock) -> Admitted:
        try:
            return _granted(await self._admit(knock))
        except OutcomeUnknown:
            # Whether a knock was counted is of no consequence: the request itself has not begun.
            raise Unavailable from None

    async def initiate(self, order: Order) -> Initiated:
        order = await self._with_derived_key(order)
        try:
            initiated = _granted(await self._initiate(order))
        except DataError as error:
            if error.constraint not in ("transactions_reference_is_unique", "transactions_network_key_is_unique"):
                raise
            if order.draft is not None and order.draft.is_key_derived:
                return await self._found_by_key(order.draft)
            # Two references met. Nothing was written, so another one may be drawn.
            assert order.draft is not None
            suffix = ids.suffix(order.draft.created_at)
            draft = replace(order.draft, reference=self.terms.reference_of(suffix), network_key=suffix)
            initiated = _granted(await self._initiate(replace(order, draft=draft)))
        if not initiated.is_replay:
            self._note(initiated.transaction)
            self.bell.ring(initiated.transaction.channel)
        return initiated

    async def _with_derived_key(self, order: Order) -> Order:
        """Where there is an Idempotency-Key, the network knows the payment by a key that is the same at every try."""
        if order.draft is None or order.key is None:
            return order
        if not self._key_secret:
            self._key_secret.append((await self.read(installation.get)).key_secret)
        key = network_keys.derive(self._key_secret[0], order.merchant_id, order.type, order.key)
        reference = self.terms.reference_of(key)
        return replace(order, draft=replace(order.draft, network_key=key, reference=reference, is_key_derived=True))

    async def _found_by_key(self, draft: Transaction) -> Initiated:
        """The derived key is there, its Idempotency-Key is not: the same payment is a replay, another is refused."""
        found = await self.read(lambda connection: transactions.get(connection, draft.merchant_id, draft.reference))
        same = ("type", "channel", "amount", "phone")
        if found is None or any(getattr(found, name) != getattr(draft, name) for name in same):
            raise KeyReused
        return Initiated(found, is_replay=True)

    async def fence(self, reason: str, *, epoch: int, beyond: int = 0) -> int:
        """The database is not the one that it was: nothing is sent until operators have looked. The new epoch."""
        actor = Actor("malipo", socket.gethostname())
        return await self.write(lambda tx: fence(tx, reason, actor=actor, now=self.clock(), epoch=epoch, beyond=beyond))

    async def take_back(self, claim: Claim) -> None:
        """What was claimed has not left us."""
        async with self.database.begin() as tx:
            await dispatches.take_back(tx, claim.id)

    async def cancel(self, cancellation: Cancellation) -> Transaction:
        outcome = _granted(await self._cancel(cancellation))
        if outcome.has_moved:
            self._note(outcome.transaction)
        return outcome.transaction

    async def submit(self, claim: Claim) -> Taken:
        taken = await self._submit(claim)
        for each in [*taken.to_send, *taken.lapsed]:
            self._note(each)
        return taken

    async def lapse(self, channels: Sequence[Channel], *, route: str | None) -> None:
        """End the collections that nobody could send in time, while their route is down or there is none."""
        async with self.database.begin() as tx:
            lapsed = await lapse(
                tx,
                channels,
                route=route,
                lapse_seconds=self.settings.lapse_seconds,
                most=_MOST_LAPSED,
                now=self.clock(),
            )
        for each in lapsed:
            self._note(each)

    async def settle(self, report: Report) -> Settled | None:
        settled = await self._settle(report)
        if settled is not None and settled.is_told:
            self.bell.ring(EVENTS_TOPIC)
        if settled is not None and settled.transaction.status is not settled.before:
            self._note(settled.transaction)
            log.info(
                "payment.settled",
                transaction=settled.transaction.id,
                status=settled.transaction.status,
                by=report.heard.act,
                network=report.heard.route,
            )
        return settled

    def _note(self, transaction: Transaction) -> None:
        """A transaction has reached a status: that is counted, and whoever tells of it is woken."""
        self.metrics.count_transaction(transaction.type, transaction.channel, transaction.status)
        if event_of(transaction) is not None:
            self.bell.ring(EVENTS_TOPIC)

    def wake_deliveries(self) -> None:
        """Somebody has asked for a delivery."""
        self.bell.ring(WEBHOOKS_TOPIC)

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
        some = partial(
            resend.recover,
            merchant_id=merchant_id,
            endpoint_id=endpoint_id,
            since=since,
            actor=actor,
            now=self.clock(),
        )
        recovered, last = await self.write(partial(some, after=None))
        while last is not None:  # A commit for every so many: nobody waits long for a lock.
            more, last = await self.write(partial(some, after=last))
            recovered += more
        self.wake_deliveries()
        return recovered

    async def record_attempt(self, attempt: Attempt) -> Delivery | None:
        delivery = await self._record_attempt(attempt)
        self.metrics.count_attempt(attempt.status, attempt.took_ms / 1000)
        return delivery

    async def read(self, query: Callable[[Conn], Awaitable[Found]]) -> Found:
        return await self.database.ask(query, patience_seconds=_READING_PATIENCE_SECONDS)

    async def read_snapshot(self, query: Callable[[Conn], Awaitable[Found]]) -> Found:
        """A read of several statements that must agree with each other."""
        return await self.database.ask(query, patience_seconds=_READING_PATIENCE_SECONDS, is_snapshot=True)

    async def write(self, act: Callable[[Tx], Awaitable[Found]]) -> Found:
        """One rare write that commits alone, such as a new key. Done again if nothing can have happened."""
        deadline = asyncio.get_running_loop().time() + _READING_PATIENCE_SECONDS
        while True:
            try:
                async with self.database.begin() as tx:
                    return await act(tx)
            except (ConnectionLost, Contention) as error:
                if isinstance(error, ConnectionLost) and error.in_doubt:
                    raise OutcomeUnknown from error
                if asyncio.get_running_loop().time() > deadline:
                    raise Unavailable from error
                await asyncio.sleep(0.1)

    async def count(self, *, least: int = tallying.LEAST) -> bool:
        """Count payments that have ended and lines of statements, for their readers. Whether more may be waiting."""
        async with self.database.begin() as tx:
            is_more = await tallying.count(tx, least=least)
        async with self.database.begin() as tx:
            return await statement_tallying.count(tx, least=least) or is_more

    def release_readers(self) -> None:
        """Let everybody who waits for news go with what there is."""
        self.statuses.release()
        self.feeds.release()
        self.lists.release()
        self.deliveries.release()

    async def finish(self) -> None:
        """Answer everybody who has asked."""
        self.release_readers()
        groups = (self._admit, self._initiate, self._cancel, self._submit, self._settle, self._record_attempt)
        await asyncio.gather(*(each.finish() for each in groups))
        await self.bell.finish()
        await self._wire.close()
        await self.post.close()


def _granted(answer: Granted | Refusal | Closed) -> Granted:
    """Inside a batch a refusal is an answer like any other; at the door it is raised."""
    if isinstance(answer, Refusal | Closed):
        raise answer
    return answer

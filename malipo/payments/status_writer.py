"""The only writer of a status. A status, its moves and its event are always written in one commit.

Locks are always taken in this order, here or by the caller: transactions, idempotency keys, wallets, each sorted by
id. So there are no deadlocks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from malipo import ids
from malipo.db import Conn, Tx
from malipo.ledger.accounts import Posting
from malipo.ledger.store import wallets as ledger
from malipo.ledger.wallet import Wallet
from malipo.outbox.event import Event
from malipo.outbox.store import PaymentEvent
from malipo.payments import payment_json
from malipo.payments.correction_moves import CorrectionChange
from malipo.payments.status_effects import CORRECTED, EVENTS, event_of, posting_of
from malipo.payments.store import (
    collection_fast_path,
    corrections,
    link_attempts,
    refunds,
    retries,
    status_writes,
    transactions,
)
from malipo.payments.transaction import Cause, Status, Transaction, Type, next_status

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChange:
    """A cause that may change the status of a transaction, with the facts that the new status stores."""

    merchant_id: str
    transaction_id: str
    cause: Cause
    provider_reference: str | None = None
    failure_code: str | None = None
    failure_reason: str | None = None
    failure_detail: str | None = None
    network_code: str | None = None


@dataclass(frozen=True, slots=True)
class CorrectedTransaction:
    """A transaction that has ended, one step of its correction, and what it owed before."""

    transaction: Transaction
    change: CorrectionChange
    owed_before: int

    @property
    def posting(self) -> Posting:
        after = self.change.correction
        return Posting(
            self.transaction.merchant_id,
            self.transaction.id,
            self.change.step,
            self.change.moves,
            ordinal=after.ordinal,
            owed=after.owed - self.owed_before,
        )

    @property
    def is_first_paid(self) -> bool:
        """Whether this is the first report that the money moved: it came after the end."""
        after = self.change.correction
        return after.ordinal == 1 and after.is_paid and self.transaction.status is not Status.COMPLETED

    def at(self, now: datetime) -> datetime:
        return max(now, self.transaction.ended_at or now)

    def outbox_event(self, now: datetime) -> PaymentEvent | None:
        if self.change.reason is None:
            return None
        after = self.change.correction
        event = CORRECTED[self.transaction.type]
        transaction = replace(self.transaction, correction=after.latest)
        return _outbox_event(event, transaction, self.at(now), ordinal=after.notice_count)


@dataclass(frozen=True, slots=True)
class StatusOutcome:
    """The transaction as it is now, and whether this change moved it there."""

    transaction: Transaction
    has_moved: bool


async def open_all(tx: Tx, opened: Sequence[Transaction], wallets: Mapping[str, Wallet], *, now: datetime) -> None:
    """Write new transactions, which do not exist yet."""
    if refunded := [each for each in opened if each.refund_of is not None]:
        await refunds.insert(tx, refunded)
    if opened:
        await status_writes.insert_opened(tx, opened, wallets, _postings(opened), _events(opened), now=now)
    if retried := [each for each in opened if each.retry_of is not None]:
        await retries.insert(tx, retried)


class FastPathCollection(NamedTuple):
    """A new collection that the fast path is to write."""

    transaction: Transaction
    tariff: str  # from which its fee was computed, as `collection_fast_path.bands_text` writes it
    key: str
    request_hash: bytes


async def open_by_fast_path(connection: Conn, wanted: Sequence[FastPathCollection], *, now: datetime) -> set[str]:
    """Write new collections, each with its idempotency key, in a statement that is its own transaction. Returns the ids
    of those that were written; nothing was written of the others."""
    bases: dict[tuple[str, str], collection_fast_path.CreationBasis] = {}
    rows = []
    for new, tariff, key, request_hash in wanted:
        assert new.type is Type.COLLECTION
        assert new.created_by is not None
        basis = bases.get((new.created_by, new.channel))
        if basis is None:
            basis = collection_fast_path.CreationBasis(
                number=len(bases),
                key_id=new.created_by,
                merchant_id=new.merchant_id,
                channel=new.channel,
                bands=tariff,
            )
            bases[new.created_by, new.channel] = basis
        event = _outbox_event(EVENTS[new.type, new.status], new, new.created_at)
        rows.append(
            collection_fast_path.NewCollection(
                basis=basis.number,
                merchant_id=new.merchant_id,
                id=new.id,
                reference=new.reference,
                network_key=new.network_key,
                channel=new.channel,
                amount=new.amount,
                fee=new.fee,
                phone=new.phone,
                name=new.name,
                description=new.description,
                metadata=new.metadata,
                search_text=new.search_text,
                created_at=new.created_at,
                created_by=new.created_by,
                order_reference=new.order_reference,
                key=key,
                request_hash=request_hash,
                event_id=event.id,
                body=event.body,
            )
        )
    return await collection_fast_path.create(connection, rows, [*bases.values()], now=now)


async def advance(tx: Tx, changes: Sequence[StatusChange], *, now: datetime) -> list[StatusOutcome | None]:
    """Apply changes in their order. A change that is not allowed changes nothing. None for a payment that we do not
    have."""
    found = await transactions.lock(tx, {(change.merchant_id, change.transaction_id) for change in changes})
    current = dict(found)
    reached: list[Transaction] = []
    outcomes: list[StatusOutcome | None] = []
    for change in changes:
        key = (change.merchant_id, change.transaction_id)
        before = current.get(key)
        after = after_change(before, change, now) if before is not None else None
        if after is not None:
            current[key] = after
            reached.append(after)
        outcomes.append(StatusOutcome(current[key], after is not None) if before is not None else None)
    await write(tx, found, reached, now=now)
    return outcomes


async def write(
    tx: Tx,
    found: Mapping[transactions.Key, Transaction],
    reached: Sequence[Transaction],
    corrected: Sequence[CorrectedTransaction] = (),
    *,
    now: datetime,
) -> None:
    """Write the statuses that were reached, and the corrections, in their order.

    The caller has found and locked these transactions.
    """
    if not reached and not corrected:
        return
    latest = {(each.merchant_id, each.id): each for each in reached}
    if latest:
        await status_writes.update_statuses(tx, [(found[key].status, each) for key, each in latest.items()])
    postings = _postings(reached) + [each.posting for each in corrected]
    events = _events(reached) + [event for each in corrected if (event := each.outbox_event(now))]
    events += await _refunded_events(tx, reached, corrected, now=now)
    wallets = await ledger.lock(tx, {each.merchant_id for each in postings})
    await status_writes.write_moves_and_events(tx, wallets, postings, events, now=now)
    if corrected:
        kept = {each.transaction.id: (each.transaction, each.change.correction) for each in corrected}
        await corrections.write(tx, list(kept.values()), now=now)
    if of_links := [each.transaction for each in corrected if each.transaction.link_id is not None]:
        await link_attempts.count_again(tx, of_links)


def after_change(before: Transaction, change: StatusChange, now: datetime) -> Transaction | None:
    """The transaction after a change; None if the change is not allowed."""
    status = next_status(before.type, before.status, change.cause)
    if status is None:
        return None
    # Clocks of hosts differ a little. A status never has an earlier time than the status before it.
    moment = max(now, before.processing_at or before.created_at)
    return replace(
        before,
        status=status,
        processing_at=moment if status is Status.PROCESSING else before.processing_at,
        ended_at=moment if status.is_final else None,
        provider_reference=change.provider_reference or before.provider_reference,
        failure_code=change.failure_code if status is Status.FAILED else None,
        failure_reason=change.failure_reason if status is Status.FAILED else None,
        failure_detail=change.failure_detail if status is Status.FAILED else None,
        network_code=change.network_code if status is Status.FAILED else None,
    )


def _postings(reached: Sequence[Transaction]) -> list[Posting]:
    return [posting for each in reached if (posting := posting_of(each))]


def _events(reached: Sequence[Transaction]) -> list[PaymentEvent]:
    # An event has the time of its status. These times never go backwards, so the feed does not either.
    return [
        _outbox_event(event, each, each.ended_at or each.created_at) for each in reached if (event := event_of(each))
    ]


async def _refunded_events(
    tx: Tx, reached: Sequence[Transaction], corrected: Sequence[CorrectedTransaction], *, now: datetime
) -> list[PaymentEvent]:
    """The events of refunded collections: one for each refund that was paid, by its status or by a report after its
    end."""
    paid = {each.id: (each, each.ended_at or now) for each in reached if each.status is Status.COMPLETED}
    paid |= {each.transaction.id: (each.transaction, each.at(now)) for each in corrected if each.is_first_paid}
    paid_refunds = [(each, at) for each, at in paid.values() if each.refund_of is not None]
    if not paid_refunds:
        return []
    # At this point the statuses are written, and the corrections are not.
    reports = {each.transaction.id: each.change.correction.is_paid for each in corrected}
    found = await refunds.find(tx, {(each.merchant_id, each.refund_of or "") for each, _ in paid_refunds})
    events = []
    for refund, at in paid_refunds:
        collection, _, known = found[refund.merchant_id, refund.refund_of or ""]
        latest = [replace(each, is_reported_paid=reports.get(each.id, each.is_reported_paid)) for each in known]
        [ordinal] = [each.ordinal for each in latest if each.id == refund.id]
        shown = replace(collection, refunds=latest)
        events.append(_outbox_event(Event.PAYMENT_REFUNDED, shown, at, ordinal=ordinal))
    return events


def _outbox_event(event: Event, transaction: Transaction, at: datetime, *, ordinal: int = 1) -> PaymentEvent:
    body = _encode({"event": event, "transaction": payment_json.in_event(transaction)}).decode()
    return PaymentEvent(ids.mint("evt_", at), transaction.merchant_id, transaction.id, event, body, at, ordinal)

"""Appends what the receipt log lacks: events that were numbered while it was off, or by an older version.

By merchant and in the feed's order, piece by piece, each in one commit with the numbering's lock. Payments whose
events are not kept any more are read themselves; of their corrections only the last one is known.
"""

import msgspec
from msgspec.structs import replace

from malipo import log
from malipo.db import Database, Tx
from malipo.outbox import feed_numbers
from malipo.outbox.event import Event
from malipo.payments import payment_json
from malipo.payments.store import transactions
from malipo.payments.transaction import Status, Transaction, Type
from malipo.receipts.append import append_facts
from malipo.receipts.fact import KINDS, Fact, Merchant, fact_of, payment_in, payment_of
from malipo.receipts.store import facts
from malipo.receipts.store.facts import Behind, OldPayment

_AT_ONCE = 500

_encode = msgspec.json.Encoder().encode


async def catch_up(database: Database, *, log_name: str | None) -> bool:
    """One piece of each merchant of whom something is lacking. Returns whether there is more."""
    async with database.read() as connection:
        behind = await facts.find_behind(connection)
    is_more = False
    for merchant_id in behind:
        async with database.begin() as tx:
            await feed_numbers.lock_numbering(tx)
            is_more |= await _catch_up_with(tx, merchant_id, log_name)
    return is_more


async def _catch_up_with(tx: Tx, merchant_id: str, log_name: str | None) -> bool:
    behind = await facts.lock_behind(tx, merchant_id)
    if behind is None:
        return False
    merchant = await facts.find_merchant(tx, merchant_id)
    if behind.logged_to < behind.pruned_to:
        new_facts, to = await _find_old(tx, merchant, behind), behind.logged_to
        if new_facts is None:
            new_facts, to = [], behind.pruned_to
    else:
        to = min(behind.logged_to + _AT_ONCE, behind.last_number)
        new_facts = await _find_in_feed(tx, merchant, after=behind.logged_to, to=to)
    if new_facts:
        log_number = await facts.find_current_log(tx)
        await append_facts(tx, new_facts, log_number=log_number, log_name=log_name)
    if to > behind.logged_to:
        await facts.set_logged(tx, merchant_id, to)
    return to < behind.last_number


async def _find_in_feed(tx: Tx, merchant: Merchant, *, after: int, to: int) -> list[Fact]:
    new_facts = []
    for event, body, ordinal in await facts.find_events(tx, merchant.id, after=after, to=to, events=list(KINDS)):
        try:
            fact = fact_of(Event(event), payment_in(body), merchant, ordinal=ordinal)
        except msgspec.MsgspecError as error:
            log.error("receipt_log.unreadable", error, merchant=merchant.id)
            continue
        assert fact is not None
        new_facts.append(fact)
    return new_facts


async def _find_old(tx: Tx, merchant: Merchant, behind: Behind) -> list[Fact] | None:
    """Of the next payments whose events are not kept; None: all were looked through."""
    after = await facts.find_walk(tx, merchant.id)
    found = await facts.find_old(tx, merchant.id, after=after, most=_AT_ONCE)
    if not found:
        await facts.end_walk(tx, merchant.id)
        return None
    await facts.set_walk(tx, merchant.id, found[-1].id)
    wanted = [each for each in found if each.is_completed or each.correction_count]
    if not wanted:
        return []
    ids = [each.id for each in wanted]
    by_id = {each.id: each for each in await transactions.find_by_ids(tx, merchant.id, ids)}
    notices = await transactions.find_corrections(tx, merchant.id, ids)
    new_facts = []
    for old in wanted:
        payment = by_id[old.id]
        new_facts += _facts_of(payment, old, merchant)
        if old.correction_count:
            corrected = replace(payment, correction=notices.get(old.id))
            new_facts += _corrected(corrected, old, merchant)
    return new_facts


def _facts_of(payment: Transaction, old: OldPayment, merchant: Merchant) -> list[Fact]:
    if not old.is_completed:
        return []
    assert payment.status is Status.COMPLETED
    is_collection = payment.type is Type.COLLECTION
    event = Event.PAYMENT_COMPLETED if is_collection else Event.PAYOUT_COMPLETED
    return _fact(event, payment, merchant, 1)


def _corrected(payment: Transaction, old: OldPayment, merchant: Merchant) -> list[Fact]:
    event = Event.PAYMENT_CORRECTED if payment.type is Type.COLLECTION else Event.PAYOUT_CORRECTED
    return _fact(event, payment, merchant, old.correction_count)


def _fact(event: Event, payment: Transaction, merchant: Merchant, ordinal: int) -> list[Fact]:
    fact = fact_of(event, payment_of(_encode(payment_json.in_event(payment))), merchant, ordinal=ordinal)
    return [] if fact is None else [fact]

"""The facts of payments whose events were pruned before the receipt log was switched on.

The payments themselves are read, piece by piece. Of their corrections only the last one is known.
"""

import msgspec
from msgspec.structs import replace

from malipo.db import Tx
from malipo.outbox.event import Event
from malipo.payments import payment_json
from malipo.payments.store import transactions
from malipo.payments.transaction import Status, Transaction, Type
from malipo.receipts.fact import Fact, Merchant, fact_of, payment_of
from malipo.receipts.store import facts
from malipo.receipts.store.facts import Lag, OldPayment

_encode = msgspec.json.Encoder().encode


async def find_facts(tx: Tx, merchant: Merchant, lag: Lag, *, most: int) -> tuple[list[Fact], int]:
    """The facts of a merchant's next payments, and its new position in the feed, which changes only after the last
    piece."""
    after = await facts.find_walk(tx, merchant.id)
    found = await facts.find_old(tx, merchant.id, after=after, most=most)
    if not found:
        await facts.end_walk(tx, merchant.id)
        return [], lag.pruned_to
    await facts.set_walk(tx, merchant.id, found[-1].id)
    return await _read(
        tx, merchant, [each for each in found if each.is_completed or each.correction_count]
    ), lag.logged_to


async def _read(tx: Tx, merchant: Merchant, wanted: list[OldPayment]) -> list[Fact]:
    if not wanted:
        return []
    ids = [each.id for each in wanted]
    by_id = {each.id: each for each in await transactions.find_by_ids(tx, merchant.id, ids)}
    notices = await transactions.find_corrections(tx, merchant.id, ids)
    found: list[Fact] = []
    for old in wanted:
        payment = by_id[old.id]
        found += _facts_of(payment, old, merchant)
        if old.correction_count:
            corrected = replace(payment, correction=notices.get(old.id))
            found += _corrected(corrected, old, merchant)
    return found


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

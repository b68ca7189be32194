"""Appends facts to the receipt log, from events that have their numbers in the feed.

A worker does this about once a second, for all merchants in one commit. One worker appends at a time, so the leaves
have no gaps, and neither a payment nor its event waits for the log (decision 57). The same commit moves the position of
each merchant.
"""

from collections.abc import Iterable, Sequence

import msgspec

from malipo import log, randomness
from malipo.db import Contention, Database, Tx
from malipo.outbox.event import Event
from malipo.receipts import old_payments
from malipo.receipts.fact import KINDS, SALT_BYTES, Fact, commitment_of, encode, fact_of, payment_in
from malipo.receipts.store import facts, logs
from malipo.receipts.store.facts import Lag, NewFact

# How many numbers of the feed one commit reads: of one merchant, and of all together.
_MOST_OF_MERCHANT = 500
_MOST = 2000


async def append_new(
    database: Database, *, log_name: str | None, most_of_merchant: int = _MOST_OF_MERCHANT, most: int = _MOST
) -> bool:
    """Append one piece of the facts that the log lacks. Returns whether there are more."""
    async with database.begin() as tx:
        await logs.lock_appending(tx)
        lags, is_all = await facts.find_lags(tx, most_of_merchant=most_of_merchant, most=most)
        if not lags:
            return False
        new_facts, positions = await _find_facts(tx, lags, most_of_merchant)
        if new_facts:
            await append_facts(tx, new_facts, log_number=await facts.find_current_log(tx), log_name=log_name)
        # This must be the last statement: from here to the commit, events of these merchants get no numbers.
        if not await facts.move_positions(tx, lags, positions):
            raise Contention("events were deleted while they were read for the receipt log")
    return not is_all or any(position < lag.last_number for lag, position in zip(lags, positions, strict=True))


async def append_facts(tx: Tx, new_facts: Iterable[Fact], *, log_number: int | None, log_name: str | None) -> int:
    """Append the facts that no log has yet. Returns their number. The caller holds the lock of appending."""
    if log_number is None:
        log_number = await logs.make(tx, log_name)
    return await facts.append(tx, log_number, [_salted(each) for each in new_facts])


async def _find_facts(tx: Tx, lags: Sequence[Lag], most: int) -> tuple[list[Fact], list[int]]:
    """The facts of the next events of these merchants, in the feed's order, and the new position of each merchant."""
    merchants = await facts.find_merchants(tx, [each.merchant_id for each in lags])
    positions = [each.end_of_piece(most) if each.has_its_events else each.logged_to for each in lags]
    new_facts: list[Fact] = []
    for each in await facts.find_events(tx, lags, positions, events=list(KINDS)):
        try:
            fact = fact_of(Event(each.event), payment_in(each.body), merchants[each.merchant_id], ordinal=each.ordinal)
        except msgspec.MsgspecError as error:
            # A log that lacks one payment is better than one that stops, and the check of the log finds the gap.
            log.error("receipt_log.unreadable", error, event_id=each.id)
            continue
        assert fact is not None
        new_facts.append(fact)
    for place, lag in enumerate(lags):
        if not lag.has_its_events:
            found, positions[place] = await old_payments.find_facts(tx, merchants[lag.merchant_id], lag, most=most)
            new_facts += found
    return new_facts, positions


def _salted(fact: Fact) -> NewFact:
    salt, text = randomness.token_bytes(SALT_BYTES), encode(fact)
    return NewFact(
        merchant_id=fact.merchant,
        transaction_id=fact.payment,
        subject_id=fact.subject,
        kind=fact.fact,
        ordinal=fact.ordinal or 1,
        entry=commitment_of(salt, text).hex(),
        salt=salt.hex(),
        fact=text,
    )

"""Appends what events tell to the receipt log, in the transaction that gives them their numbers.

There is one such transaction at a time, so leaves have no gaps, and the commit of a payment costs nothing more.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from malipo import log, randomness
from malipo.db import Tx
from malipo.outbox.store import AnyEvent, OutboxEvent
from malipo.receipts.fact import KINDS, SALT_BYTES, Fact, commitment_of, encode, fact_of, payment_in
from malipo.receipts.store import facts, logs
from malipo.receipts.store.facts import NewFact, Numbered


async def append_numbered(tx: Tx, events: Sequence[AnyEvent], *, log_name: str | None) -> bool:
    """The facts of events that have just got their numbers. Returns whether the log has now all of these merchants.

    Of a merchant of whom the log lacks something it takes nothing: `catch_up.py` appends that in its order.
    """
    counts = Counter(each.merchant_id for each in events)
    followed = await facts.follow(tx, [Numbered(*each) for each in sorted(counts.items())])
    new_facts = []
    for each in events:
        merchant = followed.merchants.get(each.merchant_id)
        if merchant is None or each.event not in KINDS or not isinstance(each, OutboxEvent):
            continue
        try:
            fact = fact_of(each.event, payment_in(each.body), merchant, ordinal=each.ordinal)
        except msgspec.MsgspecError as error:
            # A log that lacks one payment, which its check finds, is better than a feed that stops.
            log.error("receipt_log.unreadable", error, event_id=each.id)
            continue
        assert fact is not None
        new_facts.append(fact)
    if new_facts:
        await append_facts(tx, new_facts, log_number=followed.log, log_name=log_name)
    return len(followed.merchants) == len(counts)


async def append_facts(tx: Tx, new_facts: Iterable[Fact], *, log_number: int | None, log_name: str | None) -> int:
    """Append those that no log has yet. Returns how many. The caller holds the lock of the numbering."""
    if log_number is None:
        log_number = await logs.make(tx, log_name)
    return await facts.append(tx, log_number, [_salted(each) for each in new_facts])


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

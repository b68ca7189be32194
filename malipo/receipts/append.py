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
    told = []
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
        told.append(fact)
    if told:
        await append_facts(tx, told, log=followed.log, log_name=log_name)
    return len(followed.merchants) == len(counts)


async def append_facts(tx: Tx, told: Iterable[Fact], *, log: int | None, log_name: str | None) -> int:
    """Append those that no log has yet; how many. The caller holds the lock of the numbering."""
    if log is None:
        log = await logs.make(tx, log_name)
    return await facts.append(tx, log, [_salted(each) for each in told])


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

"""The only writer of a status. None can be written without its money and its event: all three are one commit.

Whoever calls holds the locks or takes them here, always in this order: idempotency keys, transactions, wallets,
each sorted by id. So no two commits wait for each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
from msgspec.structs import replace

from malipo import ids, money
from malipo.db import Tx
from malipo.ledger.book import WalletTooLow
from malipo.ledger.entry import Posting, Step, Wallet
from malipo.ledger.store import wallets as ledger
from malipo.outbox.event import Event
from malipo.outbox.store import Fact
from malipo.payments import shown
from malipo.payments.effects import contradiction_of, event_of, posting_of, resolution_of
from malipo.payments.store import steps, transactions
from malipo.payments.transaction import Cause, Status, Transaction, next_status

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that happened to a transaction, with what was learned about it."""

    merchant_id: str
    transaction_id: str
    cause: Cause
    provider_reference: str | None = None
    failure_code: str | None = None
    failure_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The transaction as it is now, and whether this change moved it there."""

    transaction: Transaction
    has_moved: bool


async def open_all(tx: Tx, opened: Sequence[Transaction], wallets: Mapping[str, Wallet], *, now: datetime) -> None:
    """Write new transactions, none of which is there."""
    if opened:
        await steps.open_all(tx, opened, wallets, _postings(opened), _facts(opened), now=now)


async def advance(tx: Tx, changes: Sequence[Change], *, now: datetime) -> list[Outcome | None]:
    """Let changes happen in their order. One that leads nowhere moves nothing; None stands for no such payment."""
    found = await transactions.lock(tx, {(change.merchant_id, change.transaction_id) for change in changes})
    current = dict(found)
    reached: list[Transaction] = []
    outcomes: list[Outcome | None] = []
    for change in changes:
        key = (change.merchant_id, change.transaction_id)
        before = current.get(key)
        after = after_change(before, change, now) if before is not None else None
        if after is not None:
            current[key] = after
            reached.append(after)
        outcomes.append(Outcome(current[key], after is not None) if before is not None else None)
    await write(tx, found, reached, now=now)
    return outcomes


async def write(
    tx: Tx, found: Mapping[transactions.Key, Transaction], reached: Sequence[Transaction], *, now: datetime
) -> None:
    """Write the statuses that were reached, in their order, by transactions which the caller has found and locked."""
    if not reached:
        return
    latest = {(each.merchant_id, each.id): each for each in reached}
    await steps.advance(tx, [(found[key].status, each) for key, each in latest.items()])
    postings = _postings(reached)
    wallets = await ledger.lock(tx, {each.merchant_id for each in postings})
    await steps.tell_and_move(tx, wallets, postings, _facts(reached), now=now)


async def contradict(tx: Tx, contradicted: Sequence[Transaction], *, now: datetime) -> list[Transaction]:
    """Put what their networks took back into suspense, once; those for which this is new."""
    known = await ledger.find_causes(tx, Step.CONTRADICTION, [(each.merchant_id, each.id) for each in contradicted])
    new = list({each.id: each for each in contradicted if each.id not in known}.values())
    wallets = await ledger.lock(tx, {each.merchant_id for each in new})
    await ledger.post(tx, wallets, [contradiction_of(each) for each in new], now=now)
    return new


async def resolve(tx: Tx, transaction: Transaction, truth: Cause, *, now: datetime) -> None:
    """Clear a contradiction out of suspense. What the merchant saw stays; the wallet follows the truth."""
    posting = resolution_of(transaction, truth)
    wallets = await ledger.lock(tx, [transaction.merchant_id])
    if not wallets[transaction.merchant_id].can_bear(posting.moves):
        held = money.display(wallets[transaction.merchant_id].available)
        raise WalletTooLow(
            f"This takes more from the wallet than it holds, which is {held}. Try again when there is more."
        )
    await ledger.post(tx, wallets, [posting], now=now)


def after_change(before: Transaction, change: Change, now: datetime) -> Transaction | None:
    """The transaction after a change; None if the change leads nowhere."""
    status = next_status(before.type, before.status, change.cause)
    if status is None:
        return None
    # Clocks of a fleet differ a little; a status time is never before the one before it.
    moment = max(now, before.processing_at or before.created_at)
    return replace(
        before,
        status=status,
        processing_at=moment if status is Status.PROCESSING else before.processing_at,
        ended_at=moment if status.is_final else None,
        provider_reference=change.provider_reference or before.provider_reference,
        failure_code=change.failure_code if status is Status.FAILED else None,
        failure_reason=change.failure_reason if status is Status.FAILED else None,
    )


def _postings(reached: Sequence[Transaction]) -> list[Posting]:
    return [posting for each in reached if (posting := posting_of(each))]


def _facts(reached: Sequence[Transaction]) -> list[Fact]:
    return [_fact(event, each) for each in reached if (event := event_of(each))]


def _fact(event: Event, transaction: Transaction) -> Fact:
    # Told at the time of the status it tells of: those never run backwards, so the feed does not either.
    at = transaction.ended_at or transaction.created_at
    body = _encode({"event": event, "transaction": shown.in_event(transaction)}).decode()
    return Fact(ids.mint("evt_", at), transaction.merchant_id, transaction.id, event, body, at)

"""Takes payments that wait, and commits that they are being sent, before anything is.

The claim is minted before the first try: after a COMMIT whose answer was lost, the same claim finds what it took.
A worker that dies with a claim leaves its payments to be asked about, and never to be sent again unasked.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from malipo.clock import Clock
from malipo.db import Tx
from malipo.installation import store as installation
from malipo.installation.store import CountedBatch
from malipo.networks.connector import Channel, FailureCode, Type
from malipo.payments import record
from malipo.payments.failure_reasons import failure_reason_of
from malipo.payments.record import Change
from malipo.payments.store import dispatch_claims
from malipo.payments.store.dispatches import Subject
from malipo.payments.transaction import Cause, Status, Transaction


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """How many payments a worker can send now, and for how long they are its own."""

    id: str
    connector: str
    pairs: Sequence[tuple[Channel, Type]]
    most: int
    lease_seconds: float
    lapse_seconds: float
    worker_id: str = ""


class Taken(msgspec.Struct, frozen=True):
    to_send: list[Transaction]
    lapsed: list[Transaction]
    batch: CountedBatch | None = None  # how many batches of sends there were, with this one


class Submit:
    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._turn = 0

    async def __call__(self, tx: Tx, claims: Sequence[Claim], /, *, again: bool) -> list[Taken]:
        return [await self._take(tx, claim, again=again) for claim in claims]

    async def _take(self, tx: Tx, claim: Claim, *, again: bool) -> Taken:
        if again and (ours := await dispatch_claims.find_claimed(tx, claim.id)):
            batch = await installation.find_counted(tx, claim.worker_id)
            return Taken([each.transaction for each in ours], [], batch)
        self._turn += 1
        return await _take(tx, claim, self._in_turn(claim), now=self._clock())

    def _in_turn(self, claim: Claim) -> Sequence[tuple[Channel, Type]]:
        """Where places get free one by one, each kind is first by turns: no flood keeps the other waiting."""
        if claim.most >= len(claim.pairs):
            return claim.pairs
        first = self._turn % len(claim.pairs)
        return [*claim.pairs[first:], *claim.pairs[:first]]


async def _take(tx: Tx, claim: Claim, pairs: Sequence[tuple[Channel, Type]], *, now: datetime) -> Taken:
    """Payments to send now. A collection that has waited too long is ended instead: its customer has gone."""
    subjects = await _claim(tx, claim, pairs)
    late, good = _parted(subjects, claim.lapse_seconds)
    lapsed = await _lapse(tx, late, now=now)
    if not good:
        return Taken([], lapsed)
    found = {(each.merchant_id, each.id): each for each in good}
    reached = [
        after
        for each in good
        if each.status is Status.PENDING
        and (after := record.after_change(each, _change(each, Cause.SUBMITTED), now)) is not None
    ]
    await record.write(tx, found, reached, now=now)
    batch = await dispatch_claims.take(
        tx,
        found,
        connector=claim.connector,
        claim_id=claim.id,
        lease_seconds=claim.lease_seconds,
        worker_id=claim.worker_id,
    )
    return Taken(list((found | {(each.merchant_id, each.id): each for each in reached}).values()), lapsed, batch)


async def lapse(
    tx: Tx, channels: Sequence[Channel], *, connector: str | None, lapse_seconds: float, most: int, now: datetime
) -> list[Transaction]:
    """End the collections that nobody could send in time, while their connector is down or there is none."""
    subjects: list[Subject] = []
    for channel in channels:
        subjects += await dispatch_claims.claim_lapsed(tx, channel, lapse_seconds=lapse_seconds, most=most)
    if connector is not None:
        subjects += await dispatch_claims.claim_lapsed_unsent(tx, connector, lapse_seconds=lapse_seconds, most=most)
    return await _lapse(tx, [each.transaction for each in subjects], now=now)


async def _claim(tx: Tx, claim: Claim, pairs: Sequence[tuple[Channel, Type]]) -> list[Subject]:
    # First those that were tried and provably did not leave.
    subjects = await dispatch_claims.claim_unsent(tx, claim.connector, most=claim.most)
    for place, (channel, type_) in enumerate(pairs):
        left = claim.most - len(subjects)
        share = -(-left // (len(pairs) - place))
        if share > 0:
            subjects += await dispatch_claims.claim_new(tx, channel, type_, most=share)
    return subjects


def _parted(subjects: Sequence[Subject], lapse_seconds: float) -> tuple[list[Transaction], list[Transaction]]:
    """Those that have waited too long by the database's clock, and the others.

    One that may have been heard of is never too late.
    """
    late: list[Transaction] = []
    good: list[Transaction] = []
    for transaction, dispatch, _ in subjects:
        assert dispatch is not None, "what is claimed is in the queue"
        is_late = transaction.type is Type.COLLECTION and dispatch.queued_seconds >= lapse_seconds
        is_unheard = dispatch.send_count == 0 and not dispatch.is_success_heard and not dispatch.is_asked_first
        (late if is_late and is_unheard else good).append(transaction)
    return late, good


async def _lapse(tx: Tx, late: Sequence[Transaction], *, now: datetime) -> list[Transaction]:
    found = {(each.merchant_id, each.id): each for each in late}
    # One that was tried is PROCESSING, and provably nothing of it left: that is as good as a refusal.
    reached = [
        after
        for each in late
        if (
            after := record.after_change(
                each, _change(each, Cause.LAPSED if each.status is Status.PENDING else Cause.REFUSED), now
            )
        )
        is not None
    ]
    await record.write(tx, found, reached, now=now)
    return reached


def _change(transaction: Transaction, cause: Cause) -> Change:
    failure = None if cause is Cause.SUBMITTED else FailureCode.CHANNEL_UNAVAILABLE
    return Change(
        merchant_id=transaction.merchant_id,
        transaction_id=transaction.id,
        cause=cause,
        failure_code=failure,
        failure_reason=None if failure is None else failure_reason_of(failure),
    )

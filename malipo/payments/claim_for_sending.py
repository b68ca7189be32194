"""Claims payments that wait to be sent, and commits that they are PROCESSING, before the network is called.

The claim's id is generated before the first try, so after a COMMIT whose answer was lost, the second try finds the
payments that the first one claimed. The payments of a worker that dies are queried before they are sent again.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from malipo.clock import Clock
from malipo.db import Tx
from malipo.networks.connector import Channel, Type
from malipo.payments import status_writer
from malipo.payments.lapse import end_lapsed, split_lapsed
from malipo.payments.status_writer import StatusChange
from malipo.payments.store import claims
from malipo.payments.store.dispatches import PaymentRecord
from malipo.payments.transaction import Cause, Status, Transaction
from malipo.payments.withhold_duplicate_payouts import withhold, without_excess
from malipo.restore.store import send_counts
from malipo.restore.store.send_counts import CountedBatch


class SendClaim(msgspec.Struct, frozen=True, kw_only=True):
    """How many payments a worker can send now, and for how long they are its own."""

    id: str
    connector: str
    routes: Sequence[tuple[Channel, Type]]
    most: int
    lease_seconds: float
    lapse_seconds: float
    worker_id: str = ""


class ClaimedPayments(msgspec.Struct, frozen=True):
    to_send: list[Transaction]
    lapsed: list[Transaction]  # ended instead of sent: too late, or a payout that would pay twice
    batch: CountedBatch | None = None  # of sends, which the high-water mark counts; no batch of payouts


class ClaimForSending:
    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._turn = 0

    async def __call__(self, tx: Tx, wanted: Sequence[SendClaim], /, *, again: bool) -> list[ClaimedPayments]:
        return [await self._claim_once(tx, claim, again=again) for claim in wanted]

    async def _claim_once(self, tx: Tx, claim: SendClaim, *, again: bool) -> ClaimedPayments:
        if again and (ours := await claims.find_claimed(tx, claim.id)):
            batch = await send_counts.find_counted(tx, claim.worker_id)
            return ClaimedPayments([each.transaction for each in await without_excess(tx, ours)], [], batch)
        self._turn += 1
        return await _claim_and_mark(tx, claim, self._in_turn(claim), self._turn, now=self._clock())

    def _in_turn(self, claim: SendClaim) -> Sequence[tuple[Channel, Type]]:
        """The routes in the order of this claim. Each route is first by turns, so that many payments of one route block
        no other route when there are fewer slots than routes."""
        if claim.most >= len(claim.routes):
            return claim.routes
        first = self._turn % len(claim.routes)
        return [*claim.routes[first:], *claim.routes[:first]]


async def _claim_and_mark(
    tx: Tx, claim: SendClaim, routes: Sequence[tuple[Channel, Type]], turn: int, *, now: datetime
) -> ClaimedPayments:
    """Claim payments to send now. A collection that has waited too long, or a payout that would pay twice, is ended."""
    claimed = await _find(tx, claim, routes, turn)
    records, withheld = await withhold(tx, claimed, connector=claim.connector, now=now)
    late, in_time = split_lapsed(records, claim.lapse_seconds)
    lapsed = [*withheld, *await end_lapsed(tx, late, now=now)]
    if not in_time:
        return ClaimedPayments([], lapsed)
    found = {(each.merchant_id, each.id): each for each in in_time}
    reached = [
        after
        for each in in_time
        if each.status is Status.PENDING
        and (after := status_writer.after_change(each, _submitted(each), now)) is not None
    ]
    await status_writer.write(tx, found, reached, now=now)
    batch = await claims.mark_sending(
        tx,
        found,
        connector=claim.connector,
        claim_id=claim.id,
        lease_seconds=claim.lease_seconds,
        worker_id=claim.worker_id,
    )
    return ClaimedPayments(
        list((found | {(each.merchant_id, each.id): each for each in reached}).values()), lapsed, batch
    )


async def _find(tx: Tx, claim: SendClaim, routes: Sequence[tuple[Channel, Type]], turn: int) -> list[PaymentRecord]:
    # First those that were tried before, and of which the network provably has nothing.
    records = await claims.lock_unsent(tx, claim.connector, most=claim.most)
    free = claim.most - len(records)
    channels = [channel for channel, type_ in routes if type_ is Type.DISBURSEMENT]
    of_batches = await claims.lock_of_batches(tx, channels, most=free) if channels and free > 0 else []
    most = claim.most - min(len(of_batches), slots_of_batches(free, turn=turn, routes=len(routes)))
    for index, (channel, type_) in enumerate(routes):
        left = most - len(records)
        share = -(-left // (len(routes) - index))  # rounded up
        if share > 0:
            records += await claims.lock_new(tx, channel, type_, most=share)
    return records + of_batches[: claim.most - len(records)]


def slots_of_batches(free: int, *, turn: int, routes: int) -> int:
    """How many of the free slots are for payouts of batches while other payments wait too: a quarter. Pure.

    A batch may have thousands of payouts. The turns carry the remainder of the quarter, so that batches get their share
    of few slots too: of a single one, every fourth time. The next turn counts once each pair was the first.
    """
    rounds = turn // max(routes, 1)
    return (free + rounds % 4) // 4


def _submitted(transaction: Transaction) -> StatusChange:
    return StatusChange(merchant_id=transaction.merchant_id, transaction_id=transaction.id, cause=Cause.SUBMITTED)

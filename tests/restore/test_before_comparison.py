"""A restored database before a worker has compared it: nothing is taken back and nothing lapses."""

from pathlib import Path

import pytest

from malipo import clock
from malipo.errors import Conflict
from malipo.installation.restore_detector import RestoreDetector
from malipo.installation.state import NotComparedYet
from malipo.payments import resolve
from malipo.payments.cancel import Cancellation
from malipo.payments.transaction import Status, Type
from tests.journeys import witness
from tests.payments.story import Story
from tests.restore.operators import ASHA, EVIDENCE, JUMA, fence
from tests.restore.operators import story as story


async def _restart_server(story: Story) -> None:
    """As the rows look on a server that no worker has seen."""
    async with story.database.begin() as tx:
        await tx.execute("UPDATE send_marks SET server = 'the one before'")


async def _worker(story: Story, folder: Path) -> RestoreDetector:
    detector = RestoreDetector(story.database, folder, fence=story.service.fence, patience_seconds=0)
    await detector.look()
    return detector


async def test_nothing_is_cancelled_before_a_worker_has_looked_at_the_server(story: Story, tmp_path: Path) -> None:
    detector = await _worker(story, tmp_path)
    await story.open(Type.COLLECTION)
    await story.claim(worker_id=detector.worker_id)
    payout = await story.open(Type.DISBURSEMENT)
    await _restart_server(story)
    with pytest.raises(NotComparedYet):
        await story.service.cancel(Cancellation(story.merchant_id, payout.id))
    await detector.look()
    assert (await story.service.cancel(Cancellation(story.merchant_id, payout.id))).status is Status.CANCELLED


async def test_where_nothing_was_ever_sent_everything_can_be_cancelled(story: Story, tmp_path: Path) -> None:
    payout = await story.open(Type.DISBURSEMENT)
    await _worker(story, tmp_path)
    await _restart_server(story)
    assert (await story.service.cancel(Cancellation(story.merchant_id, payout.id))).status is Status.CANCELLED


async def test_a_worker_without_a_mark_that_has_ended_has_looked(story: Story) -> None:
    detector = RestoreDetector(story.database, None, fence=story.service.fence)
    await detector.look()
    await story.open(Type.COLLECTION)
    await story.claim(worker_id=detector.worker_id)
    payout = await story.open(Type.DISBURSEMENT)
    await detector.leave()
    assert (await story.service.cancel(Cancellation(story.merchant_id, payout.id))).status is Status.CANCELLED


async def test_what_was_cancelled_although_it_was_paid_can_be_put_right_after_a_restore(story: Story) -> None:
    payout = await story.open(Type.DISBURSEMENT)
    await story.service.cancel(Cancellation(story.merchant_id, payout.id))
    finding = resolve.Finding(resolve.Truth.COMPLETED, EVIDENCE)
    with pytest.raises(Conflict, match="nothing contradicts"):
        async with story.database.begin() as tx:
            await resolve.propose(tx, payout.reference, finding, actor=ASHA, now=clock.now())
    await fence(story)
    async with story.database.begin() as tx:
        await resolve.propose(tx, payout.reference, finding, actor=ASHA, now=clock.now())
    async with story.database.begin() as tx:
        resolved = await resolve.approve(tx, payout.reference, actor=JUMA, now=clock.now())
    assert resolved.credited == -payout.amount - payout.fee
    await witness.assert_clean(story.database)

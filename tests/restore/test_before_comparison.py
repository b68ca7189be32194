"""A restored database before the workers have compared it: nothing is sent, cancelled, lapses or is published."""

from pathlib import Path

import pytest

from malipo import clock
from malipo.errors import Conflict
from malipo.networks.connector import Verdict
from malipo.payments.cancel import Cancellation
from malipo.payments.cases import resolve
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status, Type
from malipo.restore import feed_cursors
from malipo.restore.feed_cursors import CursorLost
from malipo.restore.installation import NotComparedYet
from malipo.restore.mark_comparison import DatabaseState
from malipo.restore.restore_detector import RestoreDetector
from malipo.webhooks.fan_out import fan_out
from malipo.worker.webhook_sender import WebhookSender
from tests.journeys import database_facts
from tests.payments.payment_steps import PaymentSteps
from tests.restore.operators import ASHA, EVIDENCE, JUMA, fence
from tests.restore.operators import steps as steps

_BEFORE = "the one before"


async def _restart_server(steps: PaymentSteps, *workers: RestoreDetector) -> None:
    """As the rows look on a server that no worker has seen. These workers know the one before."""
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE worker_send_counts SET server_id = $1", _BEFORE)
    for each in workers:
        assert each._first is not None
        each._first = each._first._replace(server_id=_BEFORE)


async def _worker(steps: PaymentSteps, folder: Path) -> RestoreDetector:
    detector = RestoreDetector(steps.database, folder, fence=steps.service.fence, patience_seconds=0)
    await detector.look()
    return detector


async def test_nothing_is_cancelled_before_a_worker_has_looked_at_the_server(
    steps: PaymentSteps, tmp_path: Path
) -> None:
    detector = await _worker(steps, tmp_path)
    await steps.open(Type.COLLECTION)
    await steps.claim(worker_id=detector.worker_id)
    payout = await steps.open(Type.DISBURSEMENT)
    await _restart_server(steps)
    with pytest.raises(NotComparedYet):
        await steps.service.payments.cancel(Cancellation(steps.merchant_id, payout.id))
    await detector.look()
    assert (await steps.service.payments.cancel(Cancellation(steps.merchant_id, payout.id))).status is Status.CANCELLED


@pytest.mark.parametrize("type_", Type)
async def test_nothing_is_sent_or_lapses_before_a_worker_has_looked_at_the_server(
    steps: PaymentSteps, tmp_path: Path, type_: Type
) -> None:
    """The database is exchanged beneath a worker that runs on. What is old in it may have been paid."""
    detector = await _worker(steps, tmp_path)
    old = await steps.open(type_)
    await steps.wait(old, seconds=10_000)
    await _restart_server(steps)

    taken = await steps.claim(worker_id=detector.worker_id)
    await steps.service.network_work.lapse([old.channel], connector="mpesa")

    assert (taken.to_send, taken.lapsed, await steps.status(old)) == ([], [], Status.PENDING)
    await detector.look()
    taken = await steps.claim(worker_id=detector.worker_id)
    assert [each.id for each in (*taken.to_send, *taken.lapsed)] == [old.id]


async def test_what_was_taken_up_and_not_sent_does_not_lapse_either(steps: PaymentSteps, tmp_path: Path) -> None:
    detector = await _worker(steps, tmp_path)
    old = await steps.send(Type.COLLECTION)
    await steps.report(old, Verdict.UNSENT, AnswerSource.SEND)
    await steps.wait(old, seconds=10_000)
    await _restart_server(steps)
    await steps.service.network_work.lapse([old.channel], connector="mpesa")
    assert await steps.status(old) is Status.PROCESSING
    await detector.look()
    await steps.service.network_work.lapse([old.channel], connector="mpesa")
    assert await steps.status(old) is Status.FAILED


async def test_no_event_gets_a_place_in_the_feed_before_a_worker_has_looked_at_the_server(
    steps: PaymentSteps, tmp_path: Path
) -> None:
    """On a restored server that place was another event's, and its readers would pass over this one."""
    detector = await _worker(steps, tmp_path)
    await steps.open(Type.COLLECTION)
    await _restart_server(steps)
    assert await _fan_out(steps) == 0
    await detector.look()
    assert await _fan_out(steps) == 1


async def _fan_out(steps: PaymentSteps) -> int:
    async with steps.database.begin() as tx:
        done = await fan_out(tx, most=10, claim_id="clm_1", lease_seconds=1, may_claim=lambda _: False, now=clock.now())
    return done.event_count


async def test_a_worker_that_has_just_started_gives_no_event_a_place_before_its_first_look(
    steps: PaymentSteps, tmp_path: Path
) -> None:
    """The one before it has compared this server. But what this one does would be in no mark, if a backup from just
    before its start were restored."""
    before = await _worker(steps, tmp_path)
    await before.leave()
    await steps.open(Type.COLLECTION)
    detector = RestoreDetector(steps.database, tmp_path, fence=steps.service.fence, patience_seconds=0)
    assert await _numbered(steps, detector) == 0
    await detector.look()
    assert await _numbered(steps, detector) == 1


async def test_a_restore_that_lost_only_places_in_the_feed_is_noticed(steps: PaymentSteps, tmp_path: Path) -> None:
    """Less than a second was lost: no look and no batch of sends, but an event's number, which its reader has seen."""
    detector = await _worker(steps, tmp_path)
    await steps.open(Type.COLLECTION)
    looks = await _looks(steps, detector)
    assert await _numbered(steps, detector) == 1
    async with steps.database.begin() as tx:  # As the rows were before.
        await tx.execute("UPDATE worker_send_counts SET look_count = $1", looks)
        await tx.execute("UPDATE feeds SET last_number = 0")
        await tx.execute("UPDATE events SET feed_number = NULL")
    assert await _numbered(steps, detector) == 0, "the number would be given twice"
    await detector.look()
    async with steps.database.read() as connection:
        assert await connection.fetchval("SELECT fenced_at IS NOT NULL FROM installation")


class _LookedBefore(RestoreDetector):
    """Events are numbered after the database has answered its look, and before the answer is read."""

    steps: PaymentSteps

    async def _find_database_state(self) -> DatabaseState:
        state = await super()._find_database_state()
        if self._is_seen:
            assert await _numbered(self.steps, self) == 1
        return state


async def test_what_is_numbered_during_a_look_is_no_restore(steps: PaymentSteps, tmp_path: Path) -> None:
    detector = _LookedBefore(steps.database, tmp_path, fence=steps.service.fence, patience_seconds=0)
    detector.steps = steps
    await detector.look()
    await steps.open(Type.COLLECTION)
    await detector.look()
    async with steps.database.read() as connection:
        assert await connection.fetchval("SELECT fenced_at IS NULL FROM installation")


async def _two_workers(
    steps: PaymentSteps, folder: Path, *, patience_seconds: float = 60
) -> tuple[RestoreDetector, RestoreDetector]:
    """On hosts of their own, and both at work."""
    first, second = [
        RestoreDetector(steps.database, folder / name, fence=steps.service.fence, patience_seconds=patience_seconds)
        for name in ("first", "second")
    ]
    for each in (first, second, first):
        await each.look()
    return first, second


async def test_no_event_gets_a_place_in_the_feed_before_all_workers_have_looked_at_the_server(
    steps: PaymentSteps, tmp_path: Path
) -> None:
    """One worker hung from the backup to the restore, so that its mark shows nothing, and looks first. The other had
    given an event a place since the backup. A reader who has read it must be told that it is lost."""
    hung, busy = await _two_workers(steps, tmp_path)
    await steps.open(Type.COLLECTION)
    looks = await _looks(steps, busy)
    assert await _numbered(steps, busy) == 1
    await _restart_server(steps, hung, busy)
    async with steps.database.begin() as tx:  # As the rows were before.
        await tx.execute("UPDATE worker_send_counts SET look_count = $2 WHERE worker_id = $1", busy.worker_id, looks)
        await tx.execute("UPDATE feeds SET last_number = 0")
        await tx.execute("UPDATE events SET feed_number = NULL")

    await hung.look()
    assert await _numbered(steps, hung) == 0, "the place would be given twice"

    await busy.look()
    async with steps.database.read() as connection:
        epoch = await feed_cursors.find_epoch(connection)
        with pytest.raises(CursorLost):
            await feed_cursors.require_kept(connection, steps.merchant_id, epoch=epoch, of_epoch=1, number=1)
    for each in (hung, busy, hung):
        await each.look()
    assert await _numbered(steps, hung) == 1


async def test_nothing_is_cancelled_before_all_workers_have_looked_at_the_server(
    steps: PaymentSteps, tmp_path: Path
) -> None:
    """What one of them has sent since the backup, and this database calls unsent, may be paid."""
    first, second = await _two_workers(steps, tmp_path)
    payout = await steps.open(Type.DISBURSEMENT)
    await _restart_server(steps, first, second)
    await first.look()
    with pytest.raises(NotComparedYet):
        await steps.service.payments.cancel(Cancellation(steps.merchant_id, payout.id))
    await second.look()
    assert (await steps.service.payments.cancel(Cancellation(steps.merchant_id, payout.id))).status is Status.CANCELLED


@pytest.mark.parametrize("type_", Type)
async def test_nothing_is_sent_or_lapses_before_all_workers_have_looked_at_the_server(
    steps: PaymentSteps, tmp_path: Path, type_: Type
) -> None:
    first, second = await _two_workers(steps, tmp_path)
    old = await steps.open(type_)
    await steps.wait(old, seconds=10_000)
    await _restart_server(steps, first, second)
    await first.look()

    taken = await steps.claim(worker_id=first.worker_id)
    await steps.service.network_work.lapse([old.channel], connector="mpesa")

    assert (taken.to_send, taken.lapsed, await steps.status(old)) == ([], [], Status.PENDING)
    await second.look()
    taken = await steps.claim(worker_id=first.worker_id)
    assert [each.id for each in (*taken.to_send, *taken.lapsed)] == [old.id]


async def test_a_worker_that_never_comes_back_does_not_stop_the_feed(steps: PaymentSteps, tmp_path: Path) -> None:
    first, second = await _two_workers(steps, tmp_path, patience_seconds=0)
    await steps.open(Type.COLLECTION)
    await _restart_server(steps, first, second)
    await first.look()
    assert await _numbered(steps, first) == 1


class _ExchangedMeanwhile(RestoreDetector):
    """The database is exchanged after it was compared, and before the look is noted."""

    is_exchanged = False

    async def _find_database_state(self) -> DatabaseState:
        state = await super()._find_database_state()
        return state._replace(server_id=_BEFORE) if self.is_exchanged else state


async def test_a_look_at_one_server_is_not_noted_on_another(steps: PaymentSteps, tmp_path: Path) -> None:
    detector = _ExchangedMeanwhile(steps.database, tmp_path, fence=steps.service.fence, patience_seconds=0)
    await detector.look()
    payout = await steps.open(Type.DISBURSEMENT)
    await _restart_server(steps)
    detector.is_exchanged = True
    await detector.look()
    assert not detector.may_send
    with pytest.raises(NotComparedYet):
        await steps.service.payments.cancel(Cancellation(steps.merchant_id, payout.id))
    detector.is_exchanged = False
    await detector.look()
    assert detector.may_send


async def test_a_worker_gives_no_event_a_place_in_an_epoch_that_it_has_not_seen(
    steps: PaymentSteps, tmp_path: Path
) -> None:
    """Its mark is of the epoch before, and does not count in this one: a backup from just before would show nothing."""
    detector = await _worker(steps, tmp_path)
    await steps.open(Type.COLLECTION)
    await fence(steps)
    assert await _numbered(steps, detector) == 0
    await detector.look()
    assert await _numbered(steps, detector) == 1


async def test_what_was_numbered_before_a_fence_is_not_in_the_mark_of_the_new_epoch(
    steps: PaymentSteps, tmp_path: Path
) -> None:
    """Its count is of the database before. In the new epoch it would look like another restore."""
    detector = await _worker(steps, tmp_path)
    async with steps.database.begin() as tx:
        numbering = await detector.count_numbering(tx)
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE worker_send_counts SET look_count = 0")
    await detector.look()
    await detector.note_numbering(numbering)
    epoch = await _epoch(steps)
    await detector.look()
    assert await _epoch(steps) == epoch, "it was fenced once"


async def _epoch(steps: PaymentSteps) -> int:
    async with steps.database.read() as connection:
        return await feed_cursors.find_epoch(connection)


async def _numbered(steps: PaymentSteps, detector: RestoreDetector) -> int:
    """How many events have a number when a worker has fanned out."""
    service = steps.service
    sender = WebhookSender(
        steps.database,
        service.attempts,
        detector,
        service.metrics,
        service.settings,
        service.clock,
        lease_seconds=1,
        at_point=lambda _: None,
    )
    await sender._fan_out()
    async with steps.database.read() as connection:
        return int(await connection.fetchval("SELECT count(*) FROM events WHERE feed_number IS NOT NULL"))


async def _looks(steps: PaymentSteps, detector: RestoreDetector) -> int:
    async with steps.database.read() as connection:
        query = "SELECT look_count FROM worker_send_counts WHERE worker_id = $1"
        return int(await connection.fetchval(query, detector.worker_id))


async def test_where_no_worker_ever_was_everything_can_be_cancelled(steps: PaymentSteps) -> None:
    payout = await steps.open(Type.DISBURSEMENT)
    assert (await steps.service.payments.cancel(Cancellation(steps.merchant_id, payout.id))).status is Status.CANCELLED


async def test_a_worker_without_a_mark_that_has_ended_has_looked(steps: PaymentSteps) -> None:
    detector = RestoreDetector(steps.database, None, fence=steps.service.fence)
    await detector.look()
    await steps.open(Type.COLLECTION)
    await steps.claim(worker_id=detector.worker_id)
    payout = await steps.open(Type.DISBURSEMENT)
    await detector.leave()
    assert (await steps.service.payments.cancel(Cancellation(steps.merchant_id, payout.id))).status is Status.CANCELLED


async def test_what_was_cancelled_although_it_was_paid_can_be_put_right_after_a_restore(steps: PaymentSteps) -> None:
    payout = await steps.open(Type.DISBURSEMENT)
    await steps.service.payments.cancel(Cancellation(steps.merchant_id, payout.id))
    finding = OperatorFinding(ResolvedOutcome.COMPLETED, EVIDENCE)
    with pytest.raises(Conflict, match="case_not_contradicted"):
        async with steps.database.begin() as tx:
            await resolve.propose(tx, payout.reference, finding, actor=ASHA, approval_amount=1_000_000, now=clock.now())
    await fence(steps)
    async with steps.database.begin() as tx:
        await resolve.propose(tx, payout.reference, finding, actor=ASHA, approval_amount=1_000_000, now=clock.now())
    async with steps.database.begin() as tx:
        resolved = await resolve.approve(tx, payout.reference, actor=JUMA, now=clock.now())
    assert resolved.credited == -payout.amount - payout.fee
    await database_facts.assert_clean(steps.database)

"""A worker compares the database with its mark: what is a restore, and what is not."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.networks.connector import Verdict
from malipo.payments.dispatch import AnswerSource, NextAction
from malipo.payments.store import claims
from malipo.payments.transaction import Type
from malipo.restore.high_water_mark import SendCount
from malipo.restore.restore_detector import RestoreDetector
from malipo.restore.store.installation import begin_epoch
from tests.conftest import Merchant
from tests.payments.payment_steps import PaymentSteps, a_claim, of


@dataclass
class Host:
    """A host with a folder of its own, and the worker on it."""

    database: Database
    folder: Path | None
    patience_seconds: float = 0
    fences: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.detector = RestoreDetector(
            self.database, self.folder, fence=self._fence, patience_seconds=self.patience_seconds
        )

    @property
    def batches(self) -> tuple[int, ...] | None:
        """The epoch, and the batches of all workers and of this one, as the mark says."""
        counted = self.detector.counted
        return None if counted is None else counted[:3]

    async def _fence(self, reason: str, *, epoch: int, beyond: int) -> int:
        self.fences.append(reason)
        async with self.database.begin() as tx:
            return await begin_epoch(tx, reason, beyond=beyond)

    async def arrive(self) -> "Host":
        await self.detector.look()
        return self

    async def restart(self) -> "Host":
        await self.detector.leave()
        return await Host(self.database, self.folder).arrive()

    async def send(self, steps: PaymentSteps) -> bool:
        """A batch of one; whether it may leave."""
        async with self.database.begin() as tx:
            await tx.execute("UPDATE installation SET fenced_at = NULL")
        await steps.open(Type.COLLECTION)
        before = self.detector.counted
        taken = await steps.claim(worker_id=self.detector.worker_id)
        assert taken.to_send
        return await self.detector.may_leave(taken.batch, before=before)


@pytest.fixture
def steps(service: Service, merchant: Merchant) -> PaymentSteps:
    return PaymentSteps(service, merchant.id)


async def _forget(database: Database, batches: int) -> None:
    """As a backup of before them."""
    async with database.begin() as tx:
        await tx.execute("UPDATE worker_send_counts SET batch_count = greatest(batch_count - $1, 0)", batches)


async def test_a_first_start_on_an_empty_database_is_no_restore(database: Database, tmp_path: Path) -> None:
    host = await Host(database, tmp_path).arrive()
    assert host.detector.may_send
    assert host.fences == []


async def test_nothing_is_sent_before_the_first_look(database: Database, tmp_path: Path) -> None:
    assert not Host(database, tmp_path).detector.may_send


async def test_a_host_that_works_and_comes_back_is_no_restore(steps: PaymentSteps, tmp_path: Path) -> None:
    host = await Host(steps.database, tmp_path).arrive()
    for _ in range(3):
        assert await host.send(steps)
        host = await host.restart()
        assert host.fences == []
    assert host.batches == (1, 3, 3)


@pytest.mark.parametrize("runs_on", [True, False])
async def test_a_database_that_knows_of_fewer_batches_was_restored(
    steps: PaymentSteps, tmp_path: Path, runs_on: bool
) -> None:
    host = await Host(steps.database, tmp_path).arrive()
    for _ in range(3):
        await host.send(steps)
    await _forget(steps.database, 2)
    host = await host.arrive() if runs_on else await host.restart()
    assert host.fences


async def test_a_batch_that_is_claimed_on_a_restored_database_does_not_leave(
    steps: PaymentSteps, tmp_path: Path
) -> None:
    """The database is exchanged between two looks."""
    host = await Host(steps.database, tmp_path).arrive()
    for _ in range(3):
        await host.send(steps)
    await _forget(steps.database, 2)
    assert not await host.send(steps)
    assert host.fences


async def test_a_worker_that_sent_nothing_itself_knows_what_the_others_have(
    steps: PaymentSteps, tmp_path: Path
) -> None:
    busy = await Host(steps.database, tmp_path / "busy").arrive()
    idle = await Host(steps.database, tmp_path / "idle").arrive()
    for _ in range(3):
        await busy.send(steps)
    await idle.detector.look()
    await _forget(steps.database, 1)
    assert not await idle.send(steps)
    assert idle.fences


async def test_a_new_host_that_is_alone_with_payments_cannot_know_and_fences(
    steps: PaymentSteps, tmp_path: Path
) -> None:
    old = await Host(steps.database, tmp_path / "old").arrive()
    await old.send(steps)
    await old.detector.leave()
    new = await Host(steps.database, tmp_path / "new").arrive()
    assert new.fences


async def test_a_new_host_beside_one_that_lives_joins_it(steps: PaymentSteps, tmp_path: Path) -> None:
    old = await Host(steps.database, tmp_path / "old").arrive()
    await old.send(steps)
    new = await Host(steps.database, tmp_path / "new", patience_seconds=60).arrive()
    assert not new.detector.may_send, "it has not seen yet that the other lives"
    await old.detector.look()
    await new.detector.look()
    assert new.fences == []
    assert new.batches == (1, 1, 0)
    assert await new.send(steps)
    assert await old.send(steps), "each goes on, whoever sends"


async def test_a_host_whose_mark_is_behind_the_database_is_brought_forward(steps: PaymentSteps, tmp_path: Path) -> None:
    old = await Host(steps.database, tmp_path / "old").arrive()
    other = await Host(steps.database, tmp_path / "other").arrive()
    await old.detector.leave()
    for _ in range(3):
        await other.send(steps)
    back = await Host(steps.database, tmp_path / "old").arrive()
    assert (back.fences, back.batches) == ([], (1, 3, 0))


async def test_a_restore_is_noticed_although_nothing_was_sent_since_the_backup(
    steps: PaymentSteps, tmp_path: Path
) -> None:
    """Payments and events of the lost time are gone all the same, and cursors of feeds point at other events."""
    host = await Host(steps.database, tmp_path).arrive()
    await host.send(steps)
    for _ in range(3):
        await host.detector.look()
    assert host.fences == []
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE worker_send_counts SET look_count = look_count - 1")
    await host.detector.look()
    assert ["looks" in reason for reason in host.fences] == [True]


async def test_where_it_is_switched_off_nothing_is_compared(steps: PaymentSteps) -> None:
    host = await Host(steps.database, None).arrive()
    for _ in range(3):
        assert await host.send(steps)
    await _forget(steps.database, 3)
    await host.detector.look()
    assert await host.send(steps)
    assert host.fences == []


async def test_what_is_claimed_is_counted_once_for_a_batch_and_not_for_its_payments(
    steps: PaymentSteps, tmp_path: Path
) -> None:
    host = await Host(steps.database, tmp_path).arrive()
    await steps.open_many(Type.COLLECTION, 20)
    taken = await steps.claim(worker_id=host.detector.worker_id)
    assert taken.batch is not None
    assert (len(taken.to_send), taken.batch.counted) == (20, SendCount(1, 1, 1))
    again = await steps.claim(worker_id=host.detector.worker_id)
    assert again.to_send == []
    await steps.report(taken.to_send[0], Verdict.UNSENT, AnswerSource.SEND)
    await steps.make_due(taken.to_send[0])
    second = (await steps.claim(worker_id=host.detector.worker_id)).batch
    assert second is not None
    assert second.counted == SendCount(1, 2, 2)


async def test_a_worker_that_the_backup_calls_alive_vouches_for_nothing(steps: PaymentSteps, tmp_path: Path) -> None:
    old = await Host(steps.database, tmp_path / "old").arrive()
    await old.send(steps)
    new = await Host(steps.database, tmp_path / "new", patience_seconds=60).arrive()
    await new.detector.look()
    assert (new.fences, new.detector.may_send) == ([], False)
    await steps.open(Type.COLLECTION)
    alone = await Host(steps.database, tmp_path / "alone").arrive()
    assert alone.fences


async def test_two_hosts_without_a_mark_do_not_vouch_for_each_other(steps: PaymentSteps, tmp_path: Path) -> None:
    old = await Host(steps.database, tmp_path / "old").arrive()
    await old.send(steps)
    await old.detector.leave()
    first = await Host(steps.database, tmp_path / "first", patience_seconds=60).arrive()
    second = await Host(steps.database, tmp_path / "second", patience_seconds=60).arrive()
    for _ in range(3):
        await first.detector.look()
        await second.detector.look()
    assert not first.detector.may_send
    assert not second.detector.may_send


async def test_what_is_fenced_is_known_and_not_fenced_again(steps: PaymentSteps, tmp_path: Path) -> None:
    host = await Host(steps.database, tmp_path).arrive()
    for _ in range(3):
        await host.send(steps)
    await _forget(steps.database, 2)
    for _ in range(3):
        await host.detector.look()
    assert len(host.fences) == 1
    assert await host.send(steps)
    assert (await host.restart()).fences == []


async def test_a_host_that_was_away_at_the_restore_finds_it_explained(steps: PaymentSteps, tmp_path: Path) -> None:
    here, away = [await Host(steps.database, tmp_path / name).arrive() for name in ("here", "away")]
    for _ in range(3):
        await away.send(steps)
    await here.detector.look()
    await away.detector.leave()
    await _forget(steps.database, 2)
    await here.detector.look()
    back = await Host(steps.database, tmp_path / "away").arrive()
    assert (len(here.fences), back.fences) == (1, [])


async def test_a_batch_that_is_lost_alone_is_missed_by_the_worker_that_sent_it(
    steps: PaymentSteps, tmp_path: Path
) -> None:
    """Two workers claim at once, so that both come to the same total. The fail-over loses the second commit."""
    kept, lost = [await Host(steps.database, tmp_path / name).arrive() for name in ("kept", "lost")]
    before = lost.detector.counted
    async with steps.database.begin() as first, steps.database.begin() as second:
        counts = [
            await claims.mark_sending(tx, [], connector="mpesa", claim_id="clm", lease_seconds=30, worker_id=worker_id)
            for tx, worker_id in ((first, kept.detector.worker_id), (second, lost.detector.worker_id))
        ]
    assert [each.counted.total for each in counts if each is not None] == [1, 1]
    assert await lost.detector.may_leave(counts[1], before=before)
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE worker_send_counts SET batch_count = 0 WHERE worker_id = $1", lost.detector.worker_id)
    await lost.detector.look()
    assert lost.fences


async def test_on_another_server_a_worker_waits_until_the_others_have_looked(
    steps: PaymentSteps, tmp_path: Path
) -> None:
    """A standby takes over that has lost what one of them sent: whoever looks first must not go first."""
    one = await Host(steps.database, tmp_path / "one", patience_seconds=60).arrive()
    other = await Host(steps.database, tmp_path / "other", patience_seconds=60).arrive()
    await one.detector.look()
    assert await one.send(steps)
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE worker_send_counts SET server_id = 'the one that died'")
    again = await Host(steps.database, tmp_path / "third", patience_seconds=60).arrive()
    assert not again.detector.may_send
    for host in (one, other, again):
        await host.detector.look()
    await again.detector.look()
    assert again.detector.may_send


async def test_a_batch_that_was_claimed_on_a_server_nobody_looked_at_stays_and_is_sent_later(
    steps: PaymentSteps, tmp_path: Path
) -> None:
    host = await Host(steps.database, tmp_path).arrive()
    opened = await steps.open(Type.DISBURSEMENT)
    claim = a_claim(worker_id=host.detector.worker_id)
    taken = await steps.service.network_work.claim_for_sending(claim)
    assert taken.batch is not None
    assert not await host.detector.may_leave(taken.batch._replace(server_id="other"), before=host.detector.counted)
    await steps.service.network_work.take_back(claim)
    assert host.fences == []
    assert of((await steps.claim(worker_id=host.detector.worker_id)).to_send) == [opened.id]


async def test_what_was_fenced_meanwhile_is_not_taken_back_but_asked_about(steps: PaymentSteps, tmp_path: Path) -> None:
    host = await Host(steps.database, tmp_path).arrive()
    opened = await steps.open(Type.DISBURSEMENT)
    claim = a_claim(worker_id=host.detector.worker_id)
    await steps.service.network_work.claim_for_sending(claim)
    await steps.service.fence("Another host has noticed.", epoch=1)
    await steps.service.network_work.take_back(claim)
    dispatch = await steps.dispatch(opened)
    assert dispatch is not None
    assert (dispatch.next_action, dispatch.send_count) == (NextAction.QUERY, 1)


async def test_payments_that_wait_for_the_very_first_worker_are_no_restore(steps: PaymentSteps, tmp_path: Path) -> None:
    await steps.open(Type.COLLECTION)
    assert (await Host(steps.database, tmp_path / "first").arrive()).fences == []


async def test_payments_that_have_waited_for_days_without_a_worker_are_looked_at(
    steps: PaymentSteps, tmp_path: Path
) -> None:
    await steps.open(Type.COLLECTION)
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE installation SET epoch_began_at = now() - interval '2 days'")
    assert (await Host(steps.database, tmp_path / "first").arrive()).fences


async def test_workers_without_a_mark_leave_one_row_behind_and_what_they_sent_stays_counted(
    steps: PaymentSteps,
) -> None:
    for _ in range(3):
        host = await Host(steps.database, None).arrive()
        assert await host.send(steps)
        await host.detector.leave()
    async with steps.database.read() as connection:
        assert [tuple(row) for row in await connection.fetch("SELECT batch_count FROM worker_send_counts")] == [(3,)]

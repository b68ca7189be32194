"""A worker compares the database with its mark: what is a restore, and what is not."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from malipo.db import Database
from malipo.installation.sentry import Sentry
from malipo.networks.contract import Verdict
from malipo.payments.pursuit import Act
from malipo.payments.transaction import Type
from malipo.service import Service
from tests.conftest import Merchant
from tests.payments.story import Story


@dataclass
class Host:
    """A host with a folder of its own, and the worker on it."""

    database: Database
    folder: Path | None
    fences: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sentry = Sentry(self.database, self.folder, fence=self._fence)

    async def _fence(self, reason: str) -> None:
        self.fences.append(reason)

    async def arrive(self) -> "Host":
        await self.sentry.look()
        return self

    async def restart(self) -> "Host":
        await self.sentry.leave()
        return await Host(self.database, self.folder).arrive()

    async def send(self, story: Story) -> bool:
        """A batch of one; whether it may leave."""
        await story.open(Type.COLLECTION)
        before = self.sentry.number
        taken = await story.claim(worker_id=self.sentry.worker_id)
        assert taken.to_send
        return await self.sentry.may_leave(taken.total, before=before)


@pytest.fixture
def story(service: Service, merchant: Merchant) -> Story:
    return Story(service, merchant.id)


async def _forget(database: Database, batches: int) -> None:
    """As a backup of before them."""
    async with database.begin() as tx:
        await tx.execute("UPDATE send_marks SET batches = greatest(batches - $1, 0)", batches)


async def test_a_first_start_on_an_empty_database_is_no_restore(database: Database, tmp_path: Path) -> None:
    host = await Host(database, tmp_path).arrive()
    assert host.sentry.may_send
    assert host.fences == []


async def test_nothing_is_sent_before_the_first_look(database: Database, tmp_path: Path) -> None:
    assert not Host(database, tmp_path).sentry.may_send


async def test_a_host_that_works_and_comes_back_is_no_restore(story: Story, tmp_path: Path) -> None:
    host = await Host(story.database, tmp_path).arrive()
    for _ in range(3):
        assert await host.send(story)
        host = await host.restart()
        assert host.fences == []
    assert host.sentry.number == 3


async def test_a_database_that_knows_of_fewer_batches_was_restored(story: Story, tmp_path: Path) -> None:
    host = await Host(story.database, tmp_path).arrive()
    for _ in range(3):
        await host.send(story)
    await _forget(story.database, 2)
    assert (await host.restart()).fences, "when it comes back"
    await host.sentry.look()
    assert host.fences, "and while it runs"


async def test_a_batch_that_is_claimed_on_a_restored_database_does_not_leave(story: Story, tmp_path: Path) -> None:
    """The database is exchanged between two looks."""
    host = await Host(story.database, tmp_path).arrive()
    for _ in range(3):
        await host.send(story)
    await _forget(story.database, 2)
    assert not await host.send(story)
    assert host.fences


async def test_a_worker_that_sent_nothing_itself_knows_what_the_others_have(story: Story, tmp_path: Path) -> None:
    busy = await Host(story.database, tmp_path / "busy").arrive()
    idle = await Host(story.database, tmp_path / "idle").arrive()
    for _ in range(3):
        await busy.send(story)
    await idle.sentry.look()
    await _forget(story.database, 1)
    assert not await idle.send(story)
    assert idle.fences


async def test_a_new_host_that_is_alone_with_payments_cannot_know_and_fences(story: Story, tmp_path: Path) -> None:
    old = await Host(story.database, tmp_path / "old").arrive()
    await old.send(story)
    await old.sentry.leave()
    new = await Host(story.database, tmp_path / "new").arrive()
    assert new.fences


async def test_a_new_host_beside_one_that_lives_joins_it(story: Story, tmp_path: Path) -> None:
    old = await Host(story.database, tmp_path / "old").arrive()
    await old.send(story)
    new = await Host(story.database, tmp_path / "new").arrive()
    assert new.fences == []
    assert new.sentry.number == 1
    assert await new.send(story)
    assert await old.send(story), "each goes on, whoever sends"


async def test_a_host_whose_mark_is_behind_the_database_is_brought_forward(story: Story, tmp_path: Path) -> None:
    old = await Host(story.database, tmp_path / "old").arrive()
    other = await Host(story.database, tmp_path / "other").arrive()
    await old.sentry.leave()
    for _ in range(3):
        await other.send(story)
    back = await Host(story.database, tmp_path / "old").arrive()
    assert (back.fences, back.sentry.number) == ([], 3)


async def test_where_it_is_switched_off_nothing_is_compared(story: Story) -> None:
    host = await Host(story.database, None).arrive()
    for _ in range(3):
        assert await host.send(story)
    await _forget(story.database, 3)
    await host.sentry.look()
    assert await host.send(story)
    assert host.fences == []


async def test_what_is_claimed_is_counted_once_for_a_batch_and_not_for_its_payments(
    story: Story, tmp_path: Path
) -> None:
    host = await Host(story.database, tmp_path).arrive()
    await story.open_many(Type.COLLECTION, 20)
    taken = await story.claim(worker_id=host.sentry.worker_id)
    assert (len(taken.to_send), taken.total) == (20, 1)
    again = await story.claim(worker_id=host.sentry.worker_id)
    assert again.to_send == []
    await story.hear(taken.to_send[0], Verdict.UNSENT, Act.SEND)
    await story.make_due(taken.to_send[0])
    assert (await story.claim(worker_id=host.sentry.worker_id)).total == 2

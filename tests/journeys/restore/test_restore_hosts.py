"""Which worker notices that a database was restored, and which has no reason to think so."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conftest import create_database
from tests.journeys.full_stack import FullStack, full_stack_started, until
from tests.journeys.restored_stack import (
    a_host,
    appoint,
    back_up,
    bring_back,
    installation,
    pay,
    release,
    statuses,
    until_fenced,
    until_looked,
)


@pytest.fixture
async def full_stack(tmp_path: Path, database_url: str) -> AsyncIterator[FullStack]:
    async with full_stack_started(tmp_path, database_url) as full_stack:
        yield full_stack


async def _paid(full_stack: FullStack, *phones: str) -> None:
    """Payouts by Airtel Money to these phones, and that each is reported paid."""
    for phone in phones:
        assert (await pay(full_stack, "AIRTEL_MONEY", phone, f"key-{phone}")).status == 201

    async def are_paid() -> bool:
        found = await statuses(full_stack)
        return all(found[phone] == "COMPLETED" for phone in phones)

    await until(are_paid, what="the payouts")


async def _is_open(full_stack: FullStack) -> bool:
    row = await installation(full_stack)
    return row["fenced_at"] is None and row["epoch"] == 1


async def test_a_host_whose_mark_is_ahead_of_the_database_fences_it(full_stack: FullStack, tmp_path: Path) -> None:
    async with a_host(full_stack, tmp_path / "state"):
        await _paid(full_stack, "+255684000001")
        backup = await back_up(full_stack.database_url)
        await _paid(full_stack, "+255684000002")
    await bring_back(full_stack.database_url, backup)
    async with a_host(full_stack, tmp_path / "state"):
        await until_fenced(full_stack)


async def test_a_worker_that_never_stopped_notices_what_was_restored_beneath_it(
    full_stack: FullStack, tmp_path: Path
) -> None:
    async with a_host(full_stack, tmp_path / "state"):
        await _paid(full_stack, "+255684000001")
        backup = await back_up(full_stack.database_url)
        await _paid(full_stack, "+255684000002")
        await bring_back(full_stack.database_url, backup)
        await until_fenced(full_stack)


async def test_a_released_payout_stays_released(full_stack: FullStack, tmp_path: Path) -> None:
    async with a_host(full_stack, tmp_path / "state"):
        await appoint(full_stack)
        await _paid(full_stack, "+255684000001")
        backup = await back_up(full_stack.database_url)
        for phone in ("+255684000002", "+255684000003", "+255684000005"):
            await _paid(full_stack, phone)
        await bring_back(full_stack.database_url, backup)
        epoch = await until_fenced(full_stack)
        await release(full_stack)
        await _paid(full_stack, "+255684000006")
        row = await installation(full_stack)
        assert (row["fenced_at"], row["epoch"]) == (None, epoch)
    async with a_host(full_stack, tmp_path / "state"):
        await _paid(full_stack, "+255684000007")
    row = await installation(full_stack)
    assert (row["fenced_at"], row["epoch"]) == (None, epoch)


async def test_a_host_without_a_mark_that_is_alone_with_payments_fences_them(
    full_stack: FullStack, tmp_path: Path
) -> None:
    async with a_host(full_stack, tmp_path / "state"):
        await _paid(full_stack, "+255684000001")
    async with a_host(full_stack, tmp_path / "new"):
        await until_fenced(full_stack)


@pytest.mark.slow
async def test_a_new_host_is_alone_although_the_backup_says_that_a_worker_was_seen_just_now(
    full_stack: FullStack, tmp_path: Path
) -> None:
    worker = full_stack.start("worker", state_dir=str(tmp_path / "state"))
    await until_looked(full_stack)
    await _paid(full_stack, "+255684000200")
    backup = await back_up(full_stack.database_url)
    worker.kill()
    await bring_back(full_stack.database_url, backup)
    async with a_host(full_stack, tmp_path / "new"):
        await until_fenced(full_stack)


@pytest.mark.slow
async def test_a_host_without_a_mark_beside_a_living_worker_makes_one_and_fences_nothing(
    full_stack: FullStack, tmp_path: Path
) -> None:
    async with a_host(full_stack, tmp_path / "state"):
        await _paid(full_stack, "+255684000001")
        async with a_host(full_stack, tmp_path / "new"):
            await until_looked(full_stack, workers=2)
            assert list((tmp_path / "new").glob("*.mark"))
            await _paid(full_stack, "+255684000002", "+255684000003")
            assert await _is_open(full_stack)


@pytest.mark.slow
async def test_of_two_workers_the_one_with_a_mark_notices_what_the_other_cannot(
    full_stack: FullStack, tmp_path: Path
) -> None:
    async with a_host(full_stack, tmp_path / "state"):
        await _paid(full_stack, "+255684000001")
        backup = await back_up(full_stack.database_url)
        await _paid(full_stack, "+255684000002")
    await bring_back(full_stack.database_url, backup)
    async with a_host(full_stack, tmp_path / "state"), a_host(full_stack, tmp_path / "new"):
        epoch = await until_fenced(full_stack)
        await until_looked(full_stack, workers=2)
        assert (await installation(full_stack))["epoch"] == epoch, "it is fenced once"


@pytest.mark.slow
async def test_a_host_whose_mark_is_behind_the_database_fences_nothing(full_stack: FullStack, tmp_path: Path) -> None:
    async with a_host(full_stack, tmp_path / "state"):
        await _paid(full_stack, "+255684000001")
        async with a_host(full_stack, tmp_path / "other"):
            await until_looked(full_stack, workers=2)
        await _paid(full_stack, "+255684000002", "+255684000003")
    async with a_host(full_stack, tmp_path / "other"):
        await _paid(full_stack, "+255684000005")
        assert await _is_open(full_stack)


async def test_a_new_empty_database_is_no_restored_one(
    full_stack: FullStack, tmp_path: Path, postgres: str, template: str
) -> None:
    empty = await create_database(postgres, template)
    async with a_host(full_stack, tmp_path / "state"):
        await _paid(full_stack, "+255684000001")
    (tmp_path / "second").mkdir()
    async with full_stack_started(tmp_path / "second", empty) as second:
        async with second.database.begin() as tx:
            # The tests' databases are copies of one. A real new database has an id of its own.
            await tx.execute("UPDATE installation SET id = 'ins_another'")
        async with a_host(second, tmp_path / "state"):
            await _paid(second, "+255684000001")
            assert await _is_open(second)


@pytest.mark.slow
async def test_without_a_state_folder_nothing_is_ever_fenced_and_the_log_warns(
    full_stack: FullStack, tmp_path: Path
) -> None:
    worker = full_stack.start("worker", state_dir="none")
    await _paid(full_stack, "+255684000001")
    backup = await back_up(full_stack.database_url)
    await _paid(full_stack, "+255684000002")
    await bring_back(full_stack.database_url, backup)
    await _paid(full_stack, "+255684000003")
    assert await _is_open(full_stack)
    assert '"restore_detection.off"' in worker.log.read_text()

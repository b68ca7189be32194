"""Which worker notices that a database was restored, and which has no reason to think so."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conftest import create_database
from tests.journeys.restored import (
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
from tests.journeys.town import Town, founded, until


@pytest.fixture
async def town(tmp_path: Path, database_url: str) -> AsyncIterator[Town]:
    async with founded(tmp_path, database_url) as town:
        yield town


async def _paid(town: Town, *phones: str) -> None:
    """Payouts by Airtel Money to these phones, and that each is told to be paid."""
    for phone in phones:
        assert (await pay(town, "AIRTEL_MONEY", phone, f"key-{phone}")).status == 201

    async def are_paid() -> bool:
        found = await statuses(town)
        return all(found[phone] == "COMPLETED" for phone in phones)

    await until(are_paid, what="the payouts")


async def _is_open(town: Town) -> bool:
    row = await installation(town)
    return row["fenced_at"] is None and row["epoch"] == 1


async def test_a_host_whose_mark_is_ahead_of_the_database_fences_it(town: Town, tmp_path: Path) -> None:
    async with a_host(town, tmp_path / "state"):
        await _paid(town, "+255684000001")
        backup = await back_up(town.database_url)
        await _paid(town, "+255684000002")
    await bring_back(town.database_url, backup)
    async with a_host(town, tmp_path / "state"):
        await until_fenced(town)


async def test_a_worker_that_never_stopped_notices_what_was_restored_beneath_it(town: Town, tmp_path: Path) -> None:
    async with a_host(town, tmp_path / "state"):
        await _paid(town, "+255684000001")
        backup = await back_up(town.database_url)
        await _paid(town, "+255684000002")
        await bring_back(town.database_url, backup)
        await until_fenced(town)


async def test_what_is_released_stays_released(town: Town, tmp_path: Path) -> None:
    async with a_host(town, tmp_path / "state"):
        await appoint(town)
        await _paid(town, "+255684000001")
        backup = await back_up(town.database_url)
        for phone in ("+255684000002", "+255684000003", "+255684000005"):
            await _paid(town, phone)
        await bring_back(town.database_url, backup)
        epoch = await until_fenced(town)
        await release(town)
        await _paid(town, "+255684000006")
        row = await installation(town)
        assert (row["fenced_at"], row["epoch"]) == (None, epoch)
    async with a_host(town, tmp_path / "state"):
        await _paid(town, "+255684000007")
    row = await installation(town)
    assert (row["fenced_at"], row["epoch"]) == (None, epoch)


async def test_a_host_without_a_mark_that_is_alone_with_payments_fences_them(town: Town, tmp_path: Path) -> None:
    async with a_host(town, tmp_path / "state"):
        await _paid(town, "+255684000001")
    async with a_host(town, tmp_path / "new"):
        await until_fenced(town)


async def test_a_new_host_is_alone_although_the_backup_says_that_a_worker_was_seen_just_now(
    town: Town, tmp_path: Path
) -> None:
    worker = town.start("worker", state_dir=str(tmp_path / "state"))
    await until_looked(town)
    await _paid(town, "+255684000200")
    backup = await back_up(town.database_url)
    worker.kill()
    await bring_back(town.database_url, backup)
    async with a_host(town, tmp_path / "new"):
        await until_fenced(town)


async def test_a_host_without_a_mark_beside_a_living_worker_makes_one_and_fences_nothing(
    town: Town, tmp_path: Path
) -> None:
    async with a_host(town, tmp_path / "state"):
        await _paid(town, "+255684000001")
        async with a_host(town, tmp_path / "new"):
            await until_looked(town, workers=2)
            assert list((tmp_path / "new").glob("*.mark"))
            await _paid(town, "+255684000002", "+255684000003")
            assert await _is_open(town)


async def test_of_two_workers_the_one_with_a_mark_notices_what_the_other_cannot(town: Town, tmp_path: Path) -> None:
    async with a_host(town, tmp_path / "state"):
        await _paid(town, "+255684000001")
        backup = await back_up(town.database_url)
        await _paid(town, "+255684000002")
    await bring_back(town.database_url, backup)
    async with a_host(town, tmp_path / "state"), a_host(town, tmp_path / "new"):
        epoch = await until_fenced(town)
        await until_looked(town, workers=2)
        assert (await installation(town))["epoch"] == epoch, "it is fenced once"


async def test_a_host_whose_mark_is_behind_the_database_fences_nothing(town: Town, tmp_path: Path) -> None:
    async with a_host(town, tmp_path / "state"):
        await _paid(town, "+255684000001")
        async with a_host(town, tmp_path / "other"):
            await until_looked(town, workers=2)
        await _paid(town, "+255684000002", "+255684000003")
    async with a_host(town, tmp_path / "other"):
        await _paid(town, "+255684000005")
        assert await _is_open(town)


async def test_a_new_empty_database_is_no_restored_one(
    town: Town, tmp_path: Path, postgres: str, template: str
) -> None:
    empty = await create_database(postgres, template)
    async with a_host(town, tmp_path / "state"):
        await _paid(town, "+255684000001")
    (tmp_path / "second").mkdir()
    async with founded(tmp_path / "second", empty) as second:
        async with second.database.begin() as tx:
            # The tests' databases are copies of one. A real new database has an id of its own.
            await tx.execute("UPDATE installation SET id = 'ins_another'")
        async with a_host(second, tmp_path / "state"):
            await _paid(second, "+255684000001")
            assert await _is_open(second)


async def test_without_a_state_folder_nothing_is_ever_fenced_and_the_log_warns(town: Town, tmp_path: Path) -> None:
    worker = town.start("worker", state_dir="none")
    await _paid(town, "+255684000001")
    backup = await back_up(town.database_url)
    await _paid(town, "+255684000002")
    await bring_back(town.database_url, backup)
    await _paid(town, "+255684000003")
    assert await _is_open(town)
    assert '"state.off"' in worker.log.read_text()

"""The drill of restoring a backup: nobody is paid twice, and what nobody can say waits for operators."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from malipo import clock
from malipo.db import Database
from malipo.db.migrate import migrate
from tests.conftest import Running
from tests.journeys import witness
from tests.journeys.cluster import Cluster, a_cluster
from tests.journeys.drill import CAN_BE_ASKED, Drill, Request, forget_keys, movements, mute_queries, payments
from tests.journeys.restored import appoint, operate, pay, release, statuses, unsettled, until_fenced
from tests.journeys.town import Town, founded, until

_WAITING = "PENDING"


@asynccontextmanager
async def _on(cluster: Cluster, folder: Path) -> AsyncIterator[Town]:
    """A town whose database is this server's. Its phones take their time, as people do."""
    async with Database.opened(cluster.url, size=4) as database:
        await migrate(database)
    async with founded(folder, cluster.url, speed=1, state_dir=str(folder / "state")) as town:
        await appoint(town)
        yield town


async def _worker(town: Town) -> Running:
    """One whose first look is done."""
    began = clock.now()
    worker = town.start("worker", worker_stop_seconds=2)

    async def has_looked() -> bool:
        async with town.database.read() as connection:
            return bool(await connection.fetchval("SELECT EXISTS (SELECT FROM send_marks WHERE seen_at > $1)", began))

    await until(has_looked, what="a worker's first look")
    return worker


MEMORIES = pytest.mark.parametrize(
    "is_forgetful",
    # Networks that forget are the harder half, and the one for every day.
    [pytest.param(False, marks=pytest.mark.slow, id="networks that remember"), pytest.param(True, id="that forget")],
)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with a_cluster() as cluster:
        yield cluster


@MEMORIES
async def test_a_copied_data_folder_pays_nobody_twice(cluster: Cluster, tmp_path: Path, is_forgetful: bool) -> None:
    def back_up() -> None:
        cluster.stop()
        cluster.copy("backup")
        cluster.start()

    def restore() -> None:
        cluster.stop()
        cluster.replace(cluster.folder / "backup")
        cluster.start()

    async with _on(cluster, tmp_path) as town:
        await _drill(town, back_up=back_up, restore=restore, is_forgetful=is_forgetful)


@pytest.mark.slow
@MEMORIES
async def test_a_base_backup_and_its_archive_restored_to_a_moment_pay_nobody_twice(
    cluster: Cluster, tmp_path: Path, is_forgetful: bool
) -> None:
    moments: list[str] = []
    cluster.base_backup("backup")

    def back_up() -> None:
        """The base backup is older. The moment is what comes back."""
        moments.append(cluster.ask("SELECT clock_timestamp()"))

    def restore() -> None:
        cluster.ask("SELECT pg_switch_wal()")
        cluster.stop()
        cluster.replace(cluster.folder / "backup")
        cluster.restore_to(moments[0])
        cluster.start()
        cluster.until_primary()

    async with _on(cluster, tmp_path) as town:
        await _drill(town, back_up=back_up, restore=restore, is_forgetful=is_forgetful)


async def _drill(
    town: Town,
    *,
    back_up: Callable[[], None],
    restore: Callable[[], None],
    is_forgetful: bool,
) -> None:
    drill = Drill(town)
    worker = await _worker(town)
    await drill.before_backup()
    await asyncio.to_thread(worker.stop)
    unsent = await drill.unsent()
    session = await _a_session(town)
    await asyncio.to_thread(back_up)
    worker = await _worker(town)
    lost = await drill.lost_time(unsent)
    await asyncio.to_thread(worker.kill)
    await asyncio.to_thread(restore)
    await mute_queries(town, is_muted=False)
    if is_forgetful:
        await forget_keys(town)
    await _worker(town)
    await until_fenced(town)
    before = await movements(town)
    await _assert_fenced(town, session)
    await _until_known(town, [each for each in drill.made if each not in lost])
    assert await movements(town) == before, "nothing is sent before the release"
    await release(town)
    await drill.repeat(lost)
    await _until_settled_or_listed(town)
    await _assert_agreed(town, drill, lost)


async def _a_session(town: Town) -> str:
    """Somebody is logged in when the backup is made."""
    id_ = f"ses_{secrets.token_hex(8)}"
    async with town.database.begin() as tx:
        await tx.execute(
            "INSERT INTO operator_sessions (id, operator_id, created_at, expires_at, address) "
            "SELECT $1, id, now(), now() + interval '1 hour', '' FROM operators LIMIT 1",
            id_,
        )
    return id_


async def _assert_fenced(town: Town, session: str) -> None:
    """Nothing that moves money is taken in, and everything else goes on."""
    refused = await pay(town, "AIRTEL_MONEY", "+255684999200", "while-fenced")
    assert (refused.status, refused.code) == (503, "restored")
    assert (await town.api("GET", "/readyz")).status == 503
    known = (await town.api("GET", "/v1/payments")).body
    assert known["success"] is True
    told = await operate(town, None, "restore", "status", "--json")
    assert told.json["isFenced"] is True
    assert "FENCED" in told.err
    async with town.database.read() as connection:
        ended = await connection.fetchval("SELECT ended_at FROM operator_sessions WHERE id = $1", session)
    assert ended is not None
    pending = next(each["id"] for each in await payments(town) if each["status"] == _WAITING)
    cancelled = await town.api("POST", f"/v1/payments/{pending}/cancel")
    assert (cancelled.status, cancelled.code) in ((503, "restored"), (409, "not_cancellable"))
    alone = await operate(town, "asha", "restore", "release", "--evidence", "I have looked", "--alone")
    assert alone.code == 2, "two exist, so it takes two"


async def _until_known(town: Town, requests: list[Request]) -> None:
    """Networks that can be asked have said what became of everything that the backup has open."""

    async def are_known() -> bool:
        found = await statuses(town)
        asked = [each for each in requests if each.channel in CAN_BE_ASKED and each.type == "DISBURSEMENT"]
        return all(found[each.phone] == "COMPLETED" for each in asked)

    await until(are_known, seconds=40, what="answers while it is fenced")


async def _until_settled_or_listed(town: Town) -> None:
    async def are_settled() -> bool:
        listed = await unsettled(town)
        open_ = [dict(each) for each in await payments(town) if each["status"] not in ("COMPLETED", "FAILED")]
        return all(each["id"] in listed for each in open_)

    await until(are_settled, seconds=40, pause=1, what="an end, or a place on the list, for every payment")


async def _assert_agreed(town: Town, drill: Drill, lost: list[Request]) -> None:
    book, known, listed = await movements(town), await payments(town), await unsettled(town)
    twice = {key: amounts for key, amounts in book.items() if len(amounts) > 1}
    assert twice == {}, "paid twice"
    completed = {each["network_key"]: [each["amount"]] for each in known if each["status"] == "COMPLETED"}
    waits = {each["network_key"]: [each["amount"]] for each in known if each["id"] in listed}
    missing = {key: amounts for key, amounts in completed.items() if book.get(key) != amounts}
    assert missing == {}, "told paid, and the networks have nothing"
    unexplained = {key: amounts for key, amounts in book.items() if key not in completed and waits.get(key) != amounts}
    assert unexplained == {}, "in the networks' books, and neither completed nor listed"
    assert {each["status"] for each in known} <= {"COMPLETED", "PROCESSING", "PENDING"}, "nothing lapses or fails"
    print(f"{len(known)} payments, {len(lost)} lost, {len(waits)} listed, {len(twice)} paid twice")
    await witness.assert_clean(town.database)

"""The drill of restoring a backup: no payout is paid twice, and payments with an unknown outcome wait for operators."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from malipo import clock
from malipo.db import Database
from malipo.db.migrate import migrate
from tests.conftest import Running
from tests.drills.figures import Record
from tests.drills.figures import record as record
from tests.drills.summary import Figures
from tests.journeys import database_facts
from tests.journeys.full_stack import FullStack, full_stack_started, until
from tests.journeys.postgres_cluster import Cluster, a_cluster
from tests.journeys.restore_drill import CAN_BE_ASKED, Drill, Request, forget_keys, movements, mute_queries, payments
from tests.journeys.restored_stack import appoint, operate, pay, release, statuses, unsettled, until_fenced

_WAITING = "PENDING"


@asynccontextmanager
async def _on(cluster: Cluster, folder: Path) -> AsyncIterator[FullStack]:
    """A town whose database is this server's. Its phones take their time, as people do."""
    async with Database.opened(cluster.url, size=4) as database:
        await migrate(database)
    async with full_stack_started(folder, cluster.url, speed=1, state_dir=str(folder / "state")) as full_stack:
        await appoint(full_stack)
        yield full_stack


async def _worker(full_stack: FullStack) -> Running:
    """One whose first look is done."""
    began = clock.now()
    worker = full_stack.start("worker", worker_stop_seconds=2)

    async def has_looked() -> bool:
        async with full_stack.database.read() as connection:
            return bool(
                await connection.fetchval("SELECT EXISTS (SELECT FROM worker_send_counts WHERE seen_at > $1)", began)
            )

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
async def test_a_copied_data_folder_pays_nobody_twice(
    cluster: Cluster, tmp_path: Path, is_forgetful: bool, record: Record
) -> None:
    def back_up() -> None:
        cluster.stop()
        cluster.copy("backup")
        cluster.start()

    def restore() -> None:
        cluster.stop()
        cluster.replace(cluster.folder / "backup")
        cluster.start()

    async with _on(cluster, tmp_path) as full_stack:
        figures = await _drill(full_stack, back_up=back_up, restore=restore, is_forgetful=is_forgetful)
        record(f"data folder put back, {_kind(is_forgetful)}", figures)


@pytest.mark.slow
@MEMORIES
async def test_a_base_backup_and_its_archive_restored_to_a_moment_pay_nobody_twice(
    cluster: Cluster, tmp_path: Path, is_forgetful: bool, record: Record
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

    async with _on(cluster, tmp_path) as full_stack:
        figures = await _drill(full_stack, back_up=back_up, restore=restore, is_forgetful=is_forgetful)
        record(f"destroyed database, restored to a moment, {_kind(is_forgetful)}", figures)


def _kind(is_forgetful: bool) -> str:
    return "networks that forget keys" if is_forgetful else "networks that remember keys"


async def _drill(
    full_stack: FullStack,
    *,
    back_up: Callable[[], None],
    restore: Callable[[], None],
    is_forgetful: bool,
) -> Figures:
    """The one request that fails is that of the time in which the installation is fenced."""
    drill = Drill(full_stack)
    worker = await _worker(full_stack)
    await drill.before_backup()
    await asyncio.to_thread(worker.stop)
    unsent = await drill.unsent()
    session = await _a_session(full_stack)
    await asyncio.to_thread(back_up)
    worker = await _worker(full_stack)
    lost = await drill.lost_time(unsent)
    await asyncio.to_thread(worker.kill)
    await asyncio.to_thread(restore)
    await mute_queries(full_stack, is_muted=False)
    if is_forgetful:
        await forget_keys(full_stack)
    await _worker(full_stack)
    await until_fenced(full_stack)
    before = await movements(full_stack)
    await _assert_fenced(full_stack, session)
    await _until_known(full_stack, [each for each in drill.made if each not in lost])
    assert await movements(full_stack) == before, "nothing is sent before the release"
    await release(full_stack)
    await drill.repeat(lost)
    look = await _until_settled_or_listed(full_stack)
    await _assert_agreed(full_stack, look, lost)
    known = await statuses(full_stack)
    return Figures(
        answers=len(drill.made) + len(lost) + len(drill.repeated) + 1,
        payments=len(look.known),
        failed_first=1,
        longest_gap_seconds=None,
        lost=sum(each.phone not in known for each in drill.made),
        twice=sum(len(amounts) > 1 for amounts in look.book.values()),
    )


async def _a_session(full_stack: FullStack) -> str:
    """Somebody is logged in when the backup is made."""
    id_ = f"ses_{secrets.token_hex(8)}"
    async with full_stack.database.begin() as tx:
        await tx.execute(
            "INSERT INTO operator_sessions (id, operator_id, created_at, last_used_at, confirmed_at, expires_at, address) "
            "SELECT $1, id, now(), now(), now(), now() + interval '1 hour', '' FROM operators LIMIT 1",
            id_,
        )
    return id_


async def _assert_fenced(full_stack: FullStack, session: str) -> None:
    """Nothing that moves money is taken in, and everything else goes on."""
    refused = await pay(full_stack, "AIRTEL_MONEY", "+255684999200", "while-fenced")
    assert (refused.status, refused.code) == (503, "restored")
    assert (await full_stack.api("GET", "/readyz")).status == 503
    known = (await full_stack.api("GET", "/v1/payments")).body
    assert known["success"] is True
    output = await operate(full_stack, None, "restore", "status", "--json")
    assert output.json["isFenced"] is True
    assert "FENCED" in (await operate(full_stack, None, "payments", "unsettled")).err
    async with full_stack.database.read() as connection:
        ended = await connection.fetchval("SELECT ended_at FROM operator_sessions WHERE id = $1", session)
    assert ended is not None
    pending = next(each["id"] for each in await payments(full_stack) if each["status"] == _WAITING)
    cancelled = await full_stack.api("POST", f"/v1/payments/{pending}/cancel")
    assert (cancelled.status, cancelled.code) in ((503, "restored"), (409, "not_cancellable"))
    alone = await operate(full_stack, "asha", "restore", "release", "--evidence", "I have looked", "--alone")
    assert alone.code == 2, "two exist, so it takes two"


async def _until_known(full_stack: FullStack, requests: list[Request]) -> None:
    """Networks that can be asked have said what became of everything that the backup has open."""

    async def are_known() -> bool:
        found = await statuses(full_stack)
        asked = [each for each in requests if each.channel in CAN_BE_ASKED and each.type == "DISBURSEMENT"]
        return all(found[each.phone] == "COMPLETED" for each in asked)

    await until(are_known, what="answers while it is fenced")


class _Look(NamedTuple):
    """What the networks have moved, the payments, and which of them are listed for operators."""

    book: Mapping[str, list[int]]
    known: list[Any]
    listed: Collection[str]


async def _until_settled_or_listed(full_stack: FullStack) -> _Look:
    """The look that saw it: what is listed now may be asked about again, and leave the list for a while."""
    looks: list[_Look] = []

    async def are_settled() -> bool:
        listed = await unsettled(full_stack)
        looks.append(_Look(await movements(full_stack), await payments(full_stack), listed))
        open_ = [each for each in looks[-1].known if each["status"] not in ("COMPLETED", "FAILED")]
        return all(each["id"] in listed for each in open_)

    await until(are_settled, pause=1, what="an end, or a place on the list, for every payment")
    return looks[-1]


async def _assert_agreed(full_stack: FullStack, look: _Look, lost: list[Request]) -> None:
    book, known, listed = look
    twice = {key: amounts for key, amounts in book.items() if len(amounts) > 1}
    assert twice == {}, "paid twice"
    completed = {each["network_key"]: [each["amount"]] for each in known if each["status"] == "COMPLETED"}
    waits = {each["network_key"]: [each["amount"]] for each in known if each["id"] in listed}
    missing = {key: amounts for key, amounts in completed.items() if book.get(key) != amounts}
    assert missing == {}, "reported paid, and the networks have nothing"
    unexplained = {key: amounts for key, amounts in book.items() if key not in completed and waits.get(key) != amounts}
    assert unexplained == {}, "in the networks' books, and neither completed nor listed"
    assert {each["status"] for each in known} <= {"COMPLETED", "PROCESSING", "PENDING"}, "nothing lapses or fails"
    print(f"{len(known)} payments, {len(lost)} lost, {len(waits)} listed, {len(twice)} paid twice")
    await database_facts.assert_clean(full_stack.database)

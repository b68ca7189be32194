"""A worker dies, falls asleep or loses its database at the worst moment: nobody is paid twice, and nobody is forgotten.

Workers are real processes that are killed or stopped by the kernel's signals; another one, in good health, then finds
what they left. The networks keep their own book, which is what counts.
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from malipo.payments.submit import Claim
from tests.conftest import create_database, free_port
from tests.journeys import witness
from tests.journeys.hamlet import Hamlet, Mortal, a_mortal, a_real_worker, hamlet, networks
from tests.journeys.town import Elsewhere, a_worker, until
from tests.journeys.wire import Fault, Wire, wire_to
from tests.simulator.processes import Sim

# Each named point of a payment's way, and at which coming to it the worker dies: at the first, so that nothing else has
# happened, or later, so that some payments of the same claim are further than others.
DEATHS = [
    ("claiming", 1),
    ("claimed", 1),
    ("claimed", 2),
    ("sending", 1),
    ("sending", 6),
    ("answered", 1),
    ("answered", 5),
    ("recording", 4),
    ("recorded", 1),
    ("recorded", 6),
    ("asking", 3),
    ("told", 1),
    ("told", 5),
    ("noted", 4),
]
# Ordinary ones, and those whose reply is lost, so that only a question can end them.
ROWS = ("001", "105")
pytestmark = pytest.mark.timeout(300)  # All deaths are died in the setup of the first test.
PREFIXES = {"MPESA": "+255754", "AIRTEL_MONEY": "+255684"}
_AT_ONCE = 6  # How many of these deaths are died at once, on a machine with little to spare.


@pytest.fixture(scope="module")
async def sim() -> AsyncIterator[Sim]:
    async with networks() as sim:
        yield sim


@dataclass(frozen=True)
class After:
    """What is left when a healthy worker has come by."""

    code: int | None
    requests: dict[str, int]
    rows: list[dict[str, Any]]
    wrong: str


Aftermath = dict[tuple[str, int], After]


@pytest.fixture(scope="module")
async def aftermath(sim: Sim, postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    """All deaths are died beside each other, each in a hamlet of its own."""
    room = asyncio.Semaphore(_AT_ONCE)
    folder = tmp_path_factory.mktemp("deaths")

    async def die(place: int, point: str, number: int) -> After:
        async with room, hamlet(sim, await create_database(postgres, template)) as home:
            return await _die(home, folder, place, point, number)

    died = await asyncio.gather(*(die(place, *death) for place, death in enumerate(DEATHS)))
    return dict(zip(DEATHS, died, strict=True))


async def _die(home: Hamlet, folder: Path, place: int, point: str, number: int) -> After:
    for channel, prefix in PREFIXES.items():
        for type_, middle in (("COLLECTION", "2"), ("DISBURSEMENT", "3")):
            for row in ROWS:
                await home.take(channel, type_, f"{prefix}{middle}{place:02d}{row}", 1000 + int(row))
    with a_mortal(home, folder, point=point, number=number) as worker:
        await _until_dead(worker)
    async with a_worker(home):
        await home.until_all_ended()
    try:
        await home.assert_books_agree()
    except AssertionError as error:
        wrong = str(error)
    else:
        wrong = ""
    return After(worker.process.returncode, await home.requests(), list((await home.rows()).values()), wrong)


async def _until_dead(worker: Mortal) -> None:
    async def is_dead() -> bool:
        return worker.has_ended()

    await until(is_dead, seconds=40, what="the worker's death")


@pytest.mark.parametrize("death", DEATHS, ids=lambda death: f"{death[0]}-{death[1]}")
async def test_a_worker_killed_at_any_point_leaves_every_payment_to_be_ended_once(
    aftermath: Aftermath, death: tuple[str, int]
) -> None:
    after = aftermath[death]

    assert after.code == -signal.SIGKILL
    assert not after.wrong
    for row in after.rows:
        if row["type"] == "DISBURSEMENT":
            assert row["status"] == "COMPLETED", "a payout never fails because we died"
        else:
            assert (row["status"], row["failure_code"]) in (("COMPLETED", None), ("FAILED", "not_received"))
        # The network refuses a second request with the same key, but it must not come to that.
        assert after.requests[row["network_key"]] == (row["status"] == "COMPLETED"), row


async def test_of_those_deaths_some_came_before_the_request_and_some_after(aftermath: Aftermath) -> None:
    """Else the grid above would prove nothing."""
    ends = {death: {row["failure_code"] for row in after.rows} for death, after in aftermath.items()}

    assert "not_received" in ends["claimed", 1] & ends["sending", 1]
    assert ends["recorded", 6] == {None}


@asynccontextmanager
async def _home(sim: Sim, postgres: str, template: str, **settings: Any) -> AsyncIterator[Hamlet]:
    async with hamlet(sim, await create_database(postgres, template), **settings) as home:
        yield home


@pytest.fixture
async def home(sim: Sim, postgres: str, template: str) -> AsyncIterator[Hamlet]:
    async with _home(sim, postgres, template) as home:
        yield home


async def _take_four(home: Hamlet, middle: str, *, row: str = "001") -> None:
    """A collection and a payout on each network."""
    for channel, prefix in PREFIXES.items():
        await home.take(channel, "COLLECTION", f"{prefix}{middle}0{row}", 1100)
        await home.take(channel, "DISBURSEMENT", f"{prefix}{middle}1{row}", 1200)


async def _assert_each_was_sent_once(home: Hamlet) -> None:
    assert set((await home.requests()).values()) == {1}
    assert {row["status"] for row in (await home.rows()).values()} == {"COMPLETED"}
    await home.assert_books_agree()


@pytest.mark.parametrize("row", ["103", "001"], ids=["that the network has", "that the network has yet to read"])
async def test_a_worker_killed_with_a_request_on_the_wire_has_sent_it_once(
    postgres: str, template: str, tmp_path: Path, row: str
) -> None:
    async with networks(speed=4) as slow, _home(slow, postgres, template, not_found_seconds=10) as home:
        for channel, prefix in PREFIXES.items():
            await home.take(channel, "DISBURSEMENT", f"{prefix}400{row}")
            if row == "001":
                await home.take(channel, "COLLECTION", f"{prefix}401{row}")
        if row == "001":
            await slow.control(all={"latencySeconds": 4})

        async def are_on_the_wire() -> bool:
            keys = [each["network_key"] for each in (await home.rows()).values()]
            seen = [each for each in await slow("GET", "/api/seen?limit=2000") if each["status"] is None]
            return all(any(key in each["body"] for each in seen) for key in keys)

        with a_mortal(home, tmp_path) as worker:
            await until(are_on_the_wire, pause=0.02, what="requests without an answer")
            worker.process.kill()
        await slow.control(all={"latencySeconds": 0})
        async with a_worker(home):
            await home.until_all_ended()
        await _assert_each_was_sent_once(home)


async def _waits(home: Hamlet, condition: str) -> bool:
    async with home.database.read() as connection:
        return bool(
            await connection.fetchval(
                f"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND {condition}"
            )
        )


async def test_a_worker_killed_while_its_answer_waits_for_a_lock_pays_once(home: Hamlet, tmp_path: Path) -> None:
    await home.take("AIRTEL_MONEY", "DISBURSEMENT", "+255684410001")

    with a_mortal(home, tmp_path) as worker:
        async with home.database.begin() as tx:
            await tx.execute("SELECT * FROM wallets FOR UPDATE")
            await until(lambda: _waits(home, "wait_event_type = 'Lock'"), pause=0.02, what="waiting for the wallet")
            worker.process.kill()
            await _until_dead(worker)
    async with a_worker(home):
        await home.until_all_ended()

    await _assert_each_was_sent_once(home)


async def test_a_worker_killed_inside_the_commit_of_an_answer_pays_once(home: Hamlet, tmp_path: Path) -> None:
    await _make_commits_slow(home, "UPDATE ON transactions", "NEW.status = 'COMPLETED'")
    await home.take("AIRTEL_MONEY", "DISBURSEMENT", "+255684420001")

    with a_mortal(home, tmp_path) as worker:
        await until(
            lambda: _waits(home, "query = 'COMMIT;' AND wait_event = 'PgSleep'"), pause=0.02, what="a commit under way"
        )
        worker.process.kill()
        await _until_dead(worker)
    async with a_worker(home):
        await home.until_all_ended()

    await _assert_each_was_sent_once(home)


async def _make_commits_slow(home: Hamlet, event: str, condition: str) -> None:
    """Let the server work for a while inside the COMMIT of whoever does this."""
    async with home.database.begin() as tx:
        await tx.execute(
            f"""
            CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END';
            CREATE CONSTRAINT TRIGGER slow AFTER {event} DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION dawdle();
            """
        )


@asynccontextmanager
async def _asleep(home: Hamlet, folder: Path, point: str) -> AsyncIterator[Mortal]:
    """A worker that has fallen asleep at this point, when everything has ended without it."""
    with a_mortal(home, folder, point=point, signal="STOP") as worker:

        async def is_stopped() -> bool:
            return worker.is_stopped

        await until(is_stopped, pause=0.02, what="sleep")
        async with a_worker(home):
            await home.until_all_ended()
        yield worker


async def test_a_worker_that_slept_through_its_lease_sends_nothing_when_it_wakes(home: Hamlet, tmp_path: Path) -> None:
    """Meanwhile others were told that the network has nothing: a collection was given up, and a payout sent again."""
    await home.take("MPESA", "COLLECTION", "+255754430001")
    await home.take("MPESA", "DISBURSEMENT", "+255754431001")

    async with _asleep(home, tmp_path, "claimed") as worker:

        async def has_noticed() -> bool:
            return worker.log.read_text().count("worker.claim_too_old") == 2

        worker.process.send_signal(signal.SIGCONT)
        await until(has_noticed, seconds=10, what="its noticing that it slept")

    ends = {row["type"]: row for row in (await home.rows()).values()}
    assert (ends["COLLECTION"]["status"], ends["COLLECTION"]["failure_code"]) == ("FAILED", "not_received")
    assert ends["DISBURSEMENT"]["status"] == "COMPLETED"
    requests = await home.requests()
    assert [requests[ends[type_]["network_key"]] for type_ in ("COLLECTION", "DISBURSEMENT")] == [0, 1]
    await home.assert_books_agree()


@pytest.mark.parametrize(("point", "act"), [("answered", "send"), ("told", "ask")])
async def test_a_worker_that_slept_with_an_answer_in_its_hand_changes_nothing_when_it_wakes(
    home: Hamlet, tmp_path: Path, point: str, act: str
) -> None:
    await _take_four(home, "44" if act == "send" else "45")

    async def heard() -> int:
        async with home.database.read() as connection:
            return int(await connection.fetchval("SELECT count(*) FROM hearings WHERE act = $1", act))

    async with _asleep(home, tmp_path, point) as worker:
        before = await heard()

        async def has_told() -> bool:
            return await heard() > before

        worker.process.send_signal(signal.SIGCONT)
        await until(has_told, what="its telling what it had heard")

    await _assert_each_was_sent_once(home)


async def test_a_request_that_leaves_a_worker_after_its_sleep_is_not_lost_sight_of(
    home: Hamlet, tmp_path: Path
) -> None:
    """Between the last look at the clock and the wire nobody can help it. The customer is charged for what has failed."""
    id_ = await home.take("MPESA", "COLLECTION", "+255754470001")

    async with _asleep(home, tmp_path, "sending") as worker:
        assert (await home.rows())[id_]["failure_code"] == "not_received"
        worker.process.send_signal(signal.SIGCONT)
        await until(lambda: _have_moved(home), what="the customer's being charged")

        async def is_found_out() -> bool:
            async with home.database.read() as connection:
                return bool(await connection.fetchval("SELECT count(*) FROM moves WHERE step = 'contradiction'"))

        await until(is_found_out, seconds=10, what="its being found out")

    assert (await home.rows())[id_]["status"] == "FAILED", "what the merchant saw stays"
    await witness.assert_clean(home.database)


async def test_a_refusal_of_a_second_sending_says_nothing_about_the_first(
    sim: Sim, postgres: str, template: str
) -> None:
    """The network has paid, keeps it from us for a while, and then refuses us for a reason of its own."""
    async with _home(sim, postgres, template) as home:
        id_ = await home.take("AIRTEL_MONEY", "DISBURSEMENT", "+255684480105")
        await sim.control(channels={"AIRTEL_MONEY": {"notFoundSeconds": 3600}})
        try:
            async with a_worker(home):
                await until(lambda: _has_heard(home, "send", "unknown"), what="the reply that is lost")
                await sim.control(channels={"AIRTEL_MONEY": {"pinPadding": "oaep"}})
                await until(lambda: _has_heard(home, "send", "refused"), what="the refusal of the second sending")
                assert (await home.rows())[id_]["status"] == "PROCESSING"
                await sim.control(channels={"AIRTEL_MONEY": {"notFoundSeconds": 0}})
                await home.until_all_ended()
        finally:
            await sim.control(channels={"AIRTEL_MONEY": {"notFoundSeconds": 0, "pinPadding": "pkcs1v15"}})

        assert (await home.rows())[id_]["status"] == "COMPLETED"
        await home.assert_books_agree()


async def _has_heard(home: Hamlet, act: str, verdict: str) -> bool:
    async with home.database.read() as connection:
        query = "SELECT count(*) FROM hearings WHERE act = $1 AND verdict = $2"
        return bool(await connection.fetchval(query, act, verdict))


async def test_an_answer_is_kept_until_the_database_is_back(postgres: str, template: str) -> None:
    async with (
        networks(speed=4) as slow,
        _wired(slow, postgres, template, database_patience_seconds=1) as (wire, home),
        a_worker(home),
    ):
        for channel, prefix in PREFIXES.items():
            await home.take(channel, "DISBURSEMENT", f"{prefix}490103")
        await until(lambda: _are_taken(home), pause=0.02, what="requests on their way")
        wire.go_away()
        await until(lambda: _have_moved(home), what="the network's paying")
        await asyncio.sleep(2.5)  # Longer than anybody's patience.
        assert {row["status"] for row in (await home.rows()).values()} == {"PROCESSING"}
        wire.come_back()
        await home.until_all_ended(seconds=10)  # The lease is minutes: nobody else would have ended them.

        await _assert_each_was_sent_once(home)


async def _are_taken(home: Hamlet) -> bool:
    return set((await home.requests()).values()) == {1}


async def _have_moved(home: Hamlet) -> bool:
    keys = {row["network_key"] for row in (await home.rows()).values()}
    return keys <= {each["reference"] for each in (await home.sim("GET", "/api/book"))["movements"]}


async def test_what_a_dead_worker_left_is_asked_about_and_never_taken_to_be_sent(home: Hamlet, tmp_path: Path) -> None:
    for number in range(3):
        await home.take("MPESA", "DISBURSEMENT", f"+25575449{number}001")
    with a_mortal(home, tmp_path, point="answered") as worker:
        await _until_dead(worker)
    await until(lambda: _has_expired(home), what="the end of its lease")

    claim = Claim(
        id="clm_next",
        route="mpesa",
        pairs=home.service.networks.carried_by("mpesa"),
        most=10,
        lease_seconds=60,
        lapse_seconds=600,
        with_unsent=True,
    )
    assert (await home.service.submit(claim)).to_send == []
    async with a_worker(home):
        await home.until_all_ended()
    await _assert_each_was_sent_once(home)


async def _has_expired(home: Hamlet) -> bool:
    async with home.database.read() as connection:
        return not await connection.fetchval("SELECT count(*) FROM dispatches WHERE due_at > now()")


async def test_what_one_worker_is_sending_no_other_asks_about(postgres: str, template: str) -> None:
    async with networks(speed=4) as slow, _home(slow, postgres, template) as home:
        for channel, prefix in PREFIXES.items():
            await home.take(channel, "DISBURSEMENT", f"{prefix}499103")
        async with a_worker(home), a_worker(home):
            await home.until_all_ended()

        async with home.database.read() as connection:
            acts = await connection.fetch(
                "SELECT DISTINCT ON (transaction_id) act FROM hearings ORDER BY transaction_id, id"
            )
        assert [row["act"] for row in acts] == ["send", "send"]
        await _assert_each_was_sent_once(home)


async def test_a_worker_asked_to_stop_ends_what_is_on_its_way_and_takes_nothing_new(
    postgres: str, template: str, tmp_path: Path
) -> None:
    async with networks(speed=4) as slow, _home(slow, postgres, template) as home:
        for number in range(3):
            await home.take("AIRTEL_MONEY", "DISBURSEMENT", f"+25568449{number}103")
        with a_real_worker(home, tmp_path) as worker:
            await until(lambda: _are_taken(home), pause=0.02, what="requests on their way")
            worker.process.terminate()
            await until(lambda: _has_left_the_bell(home), pause=0.02, what="its hearing that")
            late = await home.take("AIRTEL_MONEY", "DISBURSEMENT", "+255684495001")
            await _until_dead(worker)

        rows = await home.rows()
        assert worker.process.returncode == 0
        assert rows.pop(late)["status"] == "PENDING"
        assert {row["status"] for row in rows.values()} == {"COMPLETED"}


async def _has_left_the_bell(home: Hamlet) -> bool:
    return not await _waits(home, "application_name = 'malipo bell'")


@asynccontextmanager
async def _wired(sim: Sim, postgres: str, template: str, **settings: Any) -> AsyncIterator[tuple[Wire, Hamlet]]:
    """A hamlet whose workers have the database at the end of a wire; it is itself not."""
    url = await create_database(postgres, template)
    async with wire_to(url) as (wire, via), hamlet(sim, url, via=via, **settings) as home:
        yield wire, home
        wire.come_back()
        wire.speak_again()


# What only a claim runs, and what only an answer runs.
CLAIMS = "claim = $4, next_act = 'sending'"
HEARS = "INSERT INTO hearings"


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.HANG_AFTER])
async def test_what_was_claimed_by_a_commit_that_nobody_heard_of_is_sent_once(
    sim: Sim, postgres: str, template: str, fault: Fault
) -> None:
    """With a lease of minutes: nobody else would take it up in time."""
    async with _wired(sim, postgres, template, database_patience_seconds=3) as (wire, home):
        await _take_four(home, f"5{fault.value}")
        trap = wire.trap(fault, after=CLAIMS)
        async with a_worker(home):
            await home.until_all_ended(seconds=20)

        assert trap.sprung.is_set()
        await _assert_each_was_sent_once(home)


async def test_what_is_claimed_while_the_server_still_commits_is_sent_once(
    sim: Sim, postgres: str, template: str
) -> None:
    """The worker asks for its claim too early, and finds nothing. What it took is found by the next one."""
    async with _wired(sim, postgres, template) as (wire, home):
        await _make_commits_slow(home, "UPDATE ON dispatches", "NEW.next_act = 'sending'")
        await home.take("MPESA", "COLLECTION", "+255754560001")
        await home.take("MPESA", "DISBURSEMENT", "+255754561001")
        trap = wire.trap(Fault.CUT_DURING, after=CLAIMS)
        async with a_worker(home, lease_seconds=2):
            await home.until_all_ended()

        assert trap.sprung.is_set()
        requests = await home.requests()
        for row in (await home.rows()).values():
            assert row["status"] == "COMPLETED" or row["failure_code"] == "not_received"
            assert row["status"] == "COMPLETED" or row["type"] == "COLLECTION"
            assert requests[row["network_key"]] == (row["status"] == "COMPLETED")
        await home.assert_books_agree()


async def test_a_claim_that_hangs_in_its_commit_is_nobody_elses_and_holds_nobody_up(
    sim: Sim, postgres: str, template: str
) -> None:
    async with _wired(sim, postgres, template, database_patience_seconds=60) as (wire, home):
        await _take_four(home, "57")
        trap = wire.trap(Fault.HOLD, after=CLAIMS)
        direct = Elsewhere(home.direct_url, home.settings)
        async with a_worker(home):
            await asyncio.wait_for(trap.sprung.wait(), 30)
            async with a_worker(direct):
                late = await home.take("MPESA", "DISBURSEMENT", "+255754588001")
                await until(lambda: _has_completed(home, late), seconds=30, what="somebody else's payment")
                trap.may_pass.set()
                await home.until_all_ended()

        await _assert_each_was_sent_once(home)


async def _has_completed(home: Hamlet, id_: str) -> bool:
    return bool((await home.rows())[id_]["status"] == "COMPLETED")


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER])
async def test_an_answer_whose_commit_is_cut_ends_its_payment_once(
    sim: Sim, postgres: str, template: str, fault: Fault
) -> None:
    async with _wired(sim, postgres, template) as (wire, home):
        await _take_four(home, f"6{fault.value}")
        traps = [wire.trap(fault, after=HEARS) for _ in range(3)]
        async with a_worker(home):
            await home.until_all_ended()

        assert all(trap.sprung.is_set() for trap in traps)
        await _assert_each_was_sent_once(home)


async def test_an_answer_whose_commit_is_cut_is_counted_once(sim: Sim, postgres: str, template: str) -> None:
    """Three answers that the network has nothing must be three answers."""
    async with _wired(sim, postgres, template, poll_seconds="2,3600") as (wire, home):
        id_ = await home.take("MPESA", "COLLECTION", "+255754650108")
        async with a_worker(home):
            await until(lambda: _stands(home, id_, next_act="ask"), what="the reply")
            trap = wire.trap(Fault.CUT_AFTER, after=HEARS)
            await asyncio.wait_for(trap.sprung.wait(), 10)
            await until(lambda: _stands(home, id_, not_founds=1), seconds=5, what="one answer")
            await wire.until_quiet(seconds=0.5)

        assert await _stands(home, id_, not_founds=1)


async def test_a_request_that_provably_did_not_leave_is_counted_so_once(sim: Sim, postgres: str, template: str) -> None:
    """Counted twice, the refusal of a second sending would later be taken for the refusal of the only one."""
    closed = f"http://127.0.0.1:{free_port()}"
    async with _wired(sim, postgres, template, mpesa_base_url=closed) as (wire, home):
        id_ = await home.take("MPESA", "DISBURSEMENT", "+255754660001")
        trap = wire.trap(Fault.CUT_AFTER, after=HEARS)
        async with a_worker(home):
            await asyncio.wait_for(trap.sprung.wait(), 10)
            await asyncio.wait_for(trap.server_is_done.wait(), 10)
            await until(lambda: _stands(home, id_, next_act="send"), what="its being put back")
            await asyncio.sleep(0.5)  # The answer is written down again in less.

        assert await _stands(home, id_, next_act="send", sends=0), (await home.rows())[id_]


async def _stands(home: Hamlet, id_: str, **expected: Any) -> bool:
    row = (await home.rows())[id_]
    return all(row[name] == value for name, value in expected.items())

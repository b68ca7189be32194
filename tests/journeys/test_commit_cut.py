"""The line to the database is lost at the worst moment: each request still ends once, and pays once.

Nothing is simulated but the wire: a real malipo, a real PostgreSQL, and between them a line that is cut or falls
silent exactly when the COMMIT of a batch passes.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from malipo.db import Database
from tests.conftest import COLLECTION, NO_LIMITS, PAYOUT, Answer, Client, Merchant, Running, until_ready
from tests.journeys import witness
from tests.journeys.crowd import at_once, create, tally
from tests.journeys.wire import Fault, Wire, wire_to

# What a transaction has run that takes payments in, and a statement that only lets callers in.
TAKES_PAYMENTS = "INSERT INTO transactions"
LETS_IN = "JOIN api_keys"
# Enough for every try that succeeds; and next to nothing, for those that are to end without success.
PATIENCE_SECONDS = 6
LITTLE_PATIENCE_SECONDS = 2


@dataclass(frozen=True)
class Line:
    """A malipo at the far end of a wire."""

    wire: Wire
    client: Client
    running: Running

    @asynccontextmanager
    async def in_time(self, seconds: float) -> AsyncIterator[None]:
        """Fail when this takes longer; a malipo that hangs would not stop either, so it is killed."""
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            self.running.kill()
            raise


@pytest.fixture
async def line(start: Callable[..., Running], database_url: str, merchant: Merchant) -> AsyncIterator[Line]:
    async with _line(start, database_url, merchant, PATIENCE_SECONDS) as line:
        yield line


@pytest.fixture
async def impatient(start: Callable[..., Running], database_url: str, merchant: Merchant) -> AsyncIterator[Line]:
    async with _line(start, database_url, merchant, LITTLE_PATIENCE_SECONDS) as line:
        yield line


@asynccontextmanager
async def _line(
    start: Callable[..., Running], database_url: str, merchant: Merchant, patience_seconds: int
) -> AsyncIterator[Line]:
    async with wire_to(database_url) as (wire, url):
        running = start("api", database_url=url, database_patience_seconds=patience_seconds, **NO_LIMITS)
        await until_ready(running)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            client = Client(http, running.url, merchant.key)
            # One of each, so that connections stand and keys are known before anything is cut.
            await client("GET", "/v1/wallet")
            yield Line(wire, client, running)
        wire.come_back()
        wire.speak_again()
        wire.cut_all()
        await asyncio.to_thread(running.stop)


def _mixed(number: int) -> list[tuple[dict[str, Any], str | None]]:
    """Collections and payouts, with and without keys."""
    bodies = [COLLECTION, PAYOUT, COLLECTION, PAYOUT]
    return [(bodies[n % 4] | {"amount": 1000 + n}, f"order-{n}" if n % 4 < 2 else None) for n in range(number)]


async def _ride_together(line: Line, requests: list[tuple[dict[str, Any], str | None]]) -> list[asyncio.Task[Answer]]:
    """Send one ahead and hold its COMMIT until all the others wait behind it; they will share the next one."""
    first = line.wire.trap(Fault.HOLD, after=TAKES_PAYMENTS)
    ahead = asyncio.create_task(create(line.client, COLLECTION))
    await first.sprung.wait()
    tasks = [asyncio.create_task(create(line.client, body, key=key)) for body, key in requests]
    await asyncio.sleep(0.1)
    await line.wire.until_quiet(seconds=0.3)
    first.may_pass.set()
    assert (await ahead).status == 201
    return tasks


async def _assert_each_was_done_once(
    database: Database, merchant: Merchant, requests: list[tuple[dict[str, Any], str | None]], answers: list[Answer]
) -> None:
    assert tally(answers) == {(201, None): len(requests)}
    assert [answer.body["transaction"]["amount"] for answer in answers] == [body["amount"] for body, _ in requests]
    assert not any("Idempotency-Replayed" in answer.headers for answer in answers)
    shown = {answer.body["transaction"]["id"] for answer in answers}
    found = set(await witness.ids(database))
    assert shown < found
    assert len(found) == len(requests) + 1  # and the one ahead
    paid = sum(body["amount"] for body, _ in requests if "recipientPhone" in body)
    assert await witness.wallet(database, merchant.id) == (1_000_000 - paid, paid)
    assert await witness.count(database, "idempotency_keys") == sum(key is not None for _, key in requests)
    assert await witness.largest_commit(database) == len(requests)
    await witness.assert_clean(database)


@pytest.mark.parametrize(
    "fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.CUT_DURING, Fault.HANG_BEFORE, Fault.HANG_AFTER]
)
async def test_a_batch_whose_commit_is_cut_is_done_once_for_everybody(
    line: Line, database: Database, merchant: Merchant, fault: Fault
) -> None:
    requests = _mixed(16)
    if fault is Fault.CUT_DURING:
        await _make_a_commit_slow(database, amount=requests[5][0]["amount"])

    riding = await _ride_together(line, requests)
    trap = line.wire.trap(fault, after=TAKES_PAYMENTS)
    answers = await at_once([_said(task) for task in riding])

    assert trap.sprung.is_set()
    await _assert_each_was_done_once(database, merchant, requests, answers)


async def _said(task: asyncio.Task[Answer]) -> Answer:
    return await task


async def _make_a_commit_slow(database: Database, *, amount: int) -> None:
    """Let the server work for half a second inside the COMMIT of whoever takes in this amount."""
    async with database.begin() as tx:
        await tx.execute(
            f"""
            CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END';
            CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON transactions DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW WHEN (NEW.amount = {int(amount)}) EXECUTE FUNCTION dawdle();
            """
        )


async def test_a_lone_request_is_retried_while_the_server_is_still_committing_it(
    line: Line, database: Database, merchant: Merchant
) -> None:
    await _make_a_commit_slow(database, amount=1000)
    answers = []

    for body, key in [(COLLECTION, None), (PAYOUT, None), (COLLECTION, "order-1"), (PAYOUT, "order-1")]:
        trap = line.wire.trap(Fault.CUT_DURING, after=TAKES_PAYMENTS)
        answers.append(await create(line.client, body, key=key))
        await asyncio.wait_for(trap.server_is_done.wait(), 5)

    assert [(each.status, each.headers.get("Idempotency-Replayed")) for each in answers] == [(201, None)] * 4
    assert set(await witness.ids(database)) == {each.body["transaction"]["id"] for each in answers}
    assert len(await witness.ids(database)) == 4
    assert await witness.wallet(database, merchant.id) == (1_000_000 - 2000, 2000)
    await witness.assert_clean(database)


@pytest.mark.parametrize("fault", [Fault.CUT_AFTER, Fault.CUT_DURING])
async def test_a_wallet_spent_to_the_last_shilling_is_no_money_error_when_the_commit_is_asked_again(
    line: Line, database: Database, merchant: Merchant, fault: Fault
) -> None:
    """The second try finds the wallet empty, because the first try has emptied it."""
    if fault is Fault.CUT_DURING:
        await _make_a_commit_slow(database, amount=1_000_000)
    line.wire.trap(fault, after=TAKES_PAYMENTS)

    answer = await create(line.client, PAYOUT | {"amount": 1_000_000})

    assert (answer.status, answer.code) == (201, None)
    assert await witness.wallet(database, merchant.id) == (0, 1_000_000)
    await witness.assert_clean(database)


async def test_a_line_that_is_cut_again_and_again_still_ends_in_one_payment(
    line: Line, database: Database, merchant: Merchant
) -> None:
    requests = _mixed(8)

    riding = await _ride_together(line, requests)
    traps = [line.wire.trap(fault, after=TAKES_PAYMENTS) for fault in (Fault.CUT_BEFORE, Fault.CUT_AFTER)]
    # From here on the rows are there, and what is run again is only the question whether they are.
    traps += [line.wire.trap(fault, after="FROM transactions") for fault in (Fault.CUT_AFTER, Fault.CUT_BEFORE)]
    answers = await at_once([_said(task) for task in riding])

    assert all(trap.sprung.is_set() for trap in traps)
    await _assert_each_was_done_once(database, merchant, requests, answers)


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER])
async def test_a_cancellation_whose_commit_is_cut_returns_the_money_once(
    line: Line, database: Database, merchant: Merchant, fault: Fault
) -> None:
    payouts = await at_once([create(line.client, PAYOUT) for _ in range(4)])
    ids = [answer.body["transaction"]["id"] for answer in payouts]
    trap = line.wire.trap(fault, after="UPDATE transactions")

    answers = await at_once([line.client("POST", f"/v1/payments/{each}/cancel") for each in ids])

    assert trap.sprung.is_set()
    assert tally(answers) == {(200, None): 4}
    assert {answer.body["transaction"]["status"] for answer in answers} == {"CANCELLED"}
    assert await witness.wallet(database, merchant.id) == (1_000_000, 0)
    await witness.assert_clean(database)


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER])
async def test_a_database_that_stays_away_leaves_the_outcome_unknown_and_the_key_finds_it(
    impatient: Line, database: Database, merchant: Merchant, fault: Fault
) -> None:
    requests = _mixed(8)

    riding = await _ride_together(impatient, requests)
    impatient.wire.trap(fault, after=TAKES_PAYMENTS, stays_away=True)
    async with impatient.in_time(LITTLE_PATIENCE_SECONDS + 3):
        answers = await at_once([_said(task) for task in riding])
    impatient.wire.come_back()

    assert tally(answers) == {(503, "outcome_unknown"): 8}
    assert all(int(answer.headers["Retry-After"]) >= 1 for answer in answers)
    assert all(list(answer.body) == ["error"] for answer in answers)
    was_done = fault is Fault.CUT_AFTER
    keyed = [(body, key) for body, key in requests if key is not None]
    again = await at_once([create(impatient.client, body, key=key) for body, key in keyed])
    assert tally(again) == {(201, None): len(keyed)}
    assert all(("Idempotency-Replayed" in answer.headers) is was_done for answer in again)
    assert len(await witness.ids(database)) == 1 + (len(requests) if was_done else len(keyed))
    done = requests if was_done else keyed
    paid = sum(body["amount"] for body, _ in done if "recipientPhone" in body)
    assert await witness.wallet(database, merchant.id) == (1_000_000 - paid, paid)
    await witness.assert_clean(database)


async def test_a_database_that_goes_away_before_the_commit_has_done_nothing_and_says_so(
    impatient: Line, database: Database, merchant: Merchant
) -> None:
    trap = impatient.wire.trap(Fault.CUT_BEFORE, after=TAKES_PAYMENTS, at_commit=False, stays_away=True)

    answer = await create(impatient.client, PAYOUT, key="order-1")
    impatient.wire.come_back()

    assert trap.sprung.is_set()
    assert (answer.status, answer.code) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) >= 1
    assert await witness.ids(database) == []
    again = await create(impatient.client, PAYOUT, key="order-1")
    assert (again.status, again.headers.get("Idempotency-Replayed")) == (201, None)
    await witness.assert_clean(database)


async def test_a_commit_that_hangs_holds_nobody_else_up_for_longer_than_the_patience(
    impatient: Line, database: Database, merchant: Merchant
) -> None:
    trap = impatient.wire.trap(Fault.HANG_AFTER, after=TAKES_PAYMENTS)
    stuck = asyncio.create_task(create(impatient.client, PAYOUT, key="stuck"))
    await trap.sprung.wait()

    async with impatient.in_time(LITTLE_PATIENCE_SECONDS + 3):
        behind = await at_once([create(impatient.client, PAYOUT, key=f"behind-{n}") for n in range(5)])
        readers = await at_once([impatient.client("GET", "/v1/wallet") for _ in range(5)])

    assert tally(behind) == {(201, None): 5}
    assert tally(readers) == {(200, None): 5}
    assert (await stuck).status == 201, "on another line"
    again = await create(impatient.client, PAYOUT, key="stuck")
    assert (again.body, again.headers.get("Idempotency-Replayed")) == ((await stuck).body, "true")
    assert await witness.wallet(database, merchant.id) == (1_000_000 - 6000, 6000)
    await witness.assert_clean(database)


@pytest.mark.parametrize("is_everything_silent", [False, True], ids=["one line", "the whole server"])
async def test_a_statement_that_hangs_is_answered_and_holds_nobody_else_up(
    impatient: Line, database: Database, is_everything_silent: bool
) -> None:
    """Before the COMMIT, so nothing was done; and the server may not even hear that we gave up."""
    trap = impatient.wire.trap(Fault.HANG_BEFORE, after=TAKES_PAYMENTS, at_commit=False)
    stuck = asyncio.create_task(create(impatient.client, PAYOUT, key="stuck"))
    await trap.sprung.wait()
    if is_everything_silent:
        impatient.wire.fall_silent_for_good()  # As when a machine vanishes: whatever is sent, nothing comes back.

    async with impatient.in_time(LITTLE_PATIENCE_SECONDS + 3):
        first = await stuck
    impatient.wire.speak_again()
    impatient.wire.cut_all()
    async with impatient.in_time(LITTLE_PATIENCE_SECONDS + 3):
        again = await create(impatient.client, PAYOUT, key="stuck")

    if is_everything_silent:
        assert (first.status, first.code) == (503, "unavailable")
        assert (again.status, again.headers.get("Idempotency-Replayed")) == (201, None)
    else:
        assert first.status == 201, "on another line"
        assert (again.body, again.headers.get("Idempotency-Replayed")) == (first.body, "true")
    await witness.assert_clean(database)


async def test_a_door_whose_look_at_the_key_hangs_opens_again(impatient: Line) -> None:
    trap = impatient.wire.trap(Fault.HANG_BEFORE, after=LETS_IN, at_commit=False)
    stuck = asyncio.create_task(impatient.client("GET", "/v1/wallet"))
    await trap.sprung.wait()

    async with impatient.in_time(LITTLE_PATIENCE_SECONDS + 3):
        answers = await at_once([impatient.client("GET", "/v1/wallet") for _ in range(3)])

    assert tally(answers) == {(200, None): 3}
    assert (await stuck).status == 200, "on another line"


async def test_reads_whose_statements_hang_are_answered(line: Line) -> None:
    listing = line.wire.trap(Fault.HANG_BEFORE, after="SELECT level, bucket, count FROM", at_commit=False)
    retrieval = line.wire.trap(Fault.HANG_BEFORE, after="WHERE t.merchant_id = $1 AND t.id = $2", at_commit=False)

    async with line.in_time(8):
        answers = await at_once([line.client("GET", f"/v1/payments{path}") for path in ("", "/txn_1")])

    assert listing.sprung.is_set()
    assert retrieval.sprung.is_set()
    # Given up, or tried again on another line: both are right.
    assert set(tally(answers)) <= {(200, None), (404, "transaction_not_found"), (503, "unavailable")}
    assert (await line.client("GET", "/v1/payments")).status == 200


async def test_a_reader_is_told_of_a_change_though_an_earlier_look_hangs(line: Line) -> None:
    created = await create(line.client, PAYOUT)
    path = f"/v1/payments/{created.body['transaction']['id']}"
    trap = line.wire.trap(Fault.HANG_BEFORE, after="SELECT merchant_id, id, status FROM transactions", at_commit=False)
    assert (await line.client("GET", f"{path}?wait=1")).body["transaction"]["status"] == "PENDING"
    assert trap.sprung.is_set()

    waiting = asyncio.create_task(line.client("GET", f"{path}?wait=8"))
    await asyncio.sleep(0.3)
    await line.client("POST", f"{path}/cancel")
    async with line.in_time(6):
        answer = await waiting

    assert answer.body["transaction"]["status"] == "CANCELLED"


async def test_a_door_that_loses_its_database_has_done_nothing_and_says_so(impatient: Line, database: Database) -> None:
    """A caller who is told that the outcome is unknown has to find out; here there is nothing to find out."""
    trap = impatient.wire.trap(Fault.CUT_BEFORE, after=LETS_IN, at_commit=False, stays_away=True)

    answers = await at_once(
        [impatient.client("GET", "/v1/wallet"), create(impatient.client, PAYOUT, key="order-1")],
    )
    impatient.wire.come_back()

    assert trap.sprung.is_set()
    assert await witness.ids(database) == []
    assert tally(answers) == {(503, "unavailable"): 2}

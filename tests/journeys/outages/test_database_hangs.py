"""The database falls silent in the middle of a statement: everybody is answered, and nobody else is held up.

Nothing is simulated but the wire: a real malipo, a real PostgreSQL, and between them a line that falls silent.
"""

import asyncio

import pytest

from malipo.db import Database
from tests.conftest import PAYOUT, Merchant
from tests.journeys import database_facts
from tests.journeys.concurrency import at_once, create, tally
from tests.journeys.outages.database_proxy import LETS_IN, LITTLE_PATIENCE_SECONDS, TAKES_PAYMENTS, DatabaseProxy
from tests.journeys.outages.database_proxy import impatient as impatient
from tests.journeys.outages.database_proxy import line as line
from tests.journeys.postgres_proxy import Fault


async def test_a_commit_that_hangs_holds_nobody_else_up_for_longer_than_the_patience(
    impatient: DatabaseProxy, database: Database, merchant: Merchant
) -> None:
    trap = impatient.proxy.trap(Fault.HANG_AFTER, after=TAKES_PAYMENTS)
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
    assert await database_facts.wallet(database, merchant.id) == (1_000_000 - 6000, 6000)
    await database_facts.assert_clean(database)


@pytest.mark.parametrize("is_everything_silent", [False, True], ids=["one line", "the whole server"])
async def test_a_statement_that_hangs_is_answered_and_holds_nobody_else_up(
    impatient: DatabaseProxy, database: Database, is_everything_silent: bool
) -> None:
    """Before the COMMIT, so nothing was done; and the server may not even hear that we gave up."""
    trap = impatient.proxy.trap(Fault.HANG_BEFORE, after=TAKES_PAYMENTS, at_commit=False)
    stuck = asyncio.create_task(create(impatient.client, PAYOUT, key="stuck"))
    await trap.sprung.wait()
    if is_everything_silent:
        impatient.proxy.fall_silent_for_good()  # As when a machine vanishes: whatever is sent, nothing comes back.

    async with impatient.in_time(LITTLE_PATIENCE_SECONDS + 3):
        first = await stuck
    impatient.proxy.speak_again()
    impatient.proxy.cut_all()
    async with impatient.in_time(LITTLE_PATIENCE_SECONDS + 3):
        again = await create(impatient.client, PAYOUT, key="stuck")

    if is_everything_silent:
        assert (first.status, first.code) == (503, "unavailable")
        assert (again.status, again.headers.get("Idempotency-Replayed")) == (201, None)
    else:
        assert first.status == 201, "on another line"
        assert (again.body, again.headers.get("Idempotency-Replayed")) == (first.body, "true")
    await database_facts.assert_clean(database)


async def test_a_door_whose_look_at_the_key_hangs_opens_again(impatient: DatabaseProxy) -> None:
    trap = impatient.proxy.trap(Fault.HANG_BEFORE, after=LETS_IN, at_commit=False)
    stuck = asyncio.create_task(impatient.client("GET", "/v1/wallet"))
    await trap.sprung.wait()

    async with impatient.in_time(LITTLE_PATIENCE_SECONDS + 3):
        answers = await at_once([impatient.client("GET", "/v1/wallet") for _ in range(3)])

    assert tally(answers) == {(200, None): 3}
    assert (await stuck).status == 200, "on another line"


async def test_reads_whose_statements_hang_are_answered(line: DatabaseProxy) -> None:
    listing = line.proxy.trap(Fault.HANG_BEFORE, after="SELECT level, bucket, count FROM", at_commit=False)
    retrieval = line.proxy.trap(Fault.HANG_BEFORE, after="WHERE t.merchant_id = $1 AND t.id = $2", at_commit=False)

    async with line.in_time(8):
        answers = await at_once([line.client("GET", f"/v1/payments{path}") for path in ("", "/txn_1")])

    assert listing.sprung.is_set()
    assert retrieval.sprung.is_set()
    # Given up, or tried again on another line: both are right.
    assert set(tally(answers)) <= {(200, None), (404, "transaction_not_found"), (503, "unavailable")}
    assert (await line.client("GET", "/v1/payments")).status == 200


async def test_a_waiting_reader_gets_a_change_although_an_earlier_query_hangs(line: DatabaseProxy) -> None:
    created = await create(line.client, PAYOUT)
    path = f"/v1/payments/{created.body['transaction']['id']}"
    trap = line.proxy.trap(Fault.HANG_BEFORE, after="SELECT merchant_id, id, status FROM transactions", at_commit=False)
    assert (await line.client("GET", f"{path}?wait=1")).body["transaction"]["status"] == "PENDING"
    assert trap.sprung.is_set()

    waiting = asyncio.create_task(line.client("GET", f"{path}?wait=8"))
    await asyncio.sleep(0.3)
    await line.client("POST", f"{path}/cancel")
    async with line.in_time(6):
        answer = await waiting

    assert answer.body["transaction"]["status"] == "CANCELLED"


async def test_a_door_that_loses_its_database_has_done_nothing_and_says_so(
    impatient: DatabaseProxy, database: Database
) -> None:
    """A client that gets "outcome unknown" has to find out; here there is nothing to find out."""
    trap = impatient.proxy.trap(Fault.CUT_BEFORE, after=LETS_IN, at_commit=False, stays_away=True)

    answers = await at_once(
        [impatient.client("GET", "/v1/wallet"), create(impatient.client, PAYOUT, key="order-1")],
    )
    impatient.proxy.come_back()

    assert trap.sprung.is_set()
    assert await database_facts.ids(database) == []
    assert tally(answers) == {(503, "unavailable"): 2}

"""The line to the database is lost at the worst moment: each request still ends once, and pays once.

Nothing is simulated but the wire: a real malipo, a real PostgreSQL, and between them a line that is cut or falls
silent exactly when the COMMIT of a batch passes.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from malipo.db import Database
from malipo.restore.store import installation
from tests.api.batches.batch_keys import PATH, key_of
from tests.conftest import COLLECTION, PAYOUT, Merchant
from tests.journeys import database_facts
from tests.journeys.concurrency import at_once, create, tally
from tests.journeys.outages.database_proxy import (
    LITTLE_PATIENCE_SECONDS,
    PAYMENTS,
    TAKES_PAYMENTS,
    DatabaseProxy,
    assert_each_was_done_once,
    make_a_commit_slow,
    ride_together,
    said_by,
)
from tests.journeys.outages.database_proxy import impatient as impatient
from tests.journeys.outages.database_proxy import line as line
from tests.journeys.postgres_proxy import Fault

PEOPLE = ("asha@duka.example", "juma@duka.example")
Payments = Callable[[int], list[tuple[dict[str, Any], str | None]]]


@pytest.mark.parametrize("payments", PAYMENTS)
@pytest.mark.parametrize(
    "fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.CUT_DURING, Fault.HANG_BEFORE, Fault.HANG_AFTER]
)
async def test_a_batch_whose_commit_is_cut_is_done_once_for_everybody(
    line: DatabaseProxy, database: Database, merchant: Merchant, payments: Payments, fault: Fault
) -> None:
    requests = payments(16)
    if fault is Fault.CUT_DURING:
        await make_a_commit_slow(database, amount=requests[5][0]["amount"])

    riding, [trap] = await ride_together(line, requests, (fault, TAKES_PAYMENTS))
    answers = await at_once([said_by(task) for task in riding])

    assert trap.sprung.is_set()
    await assert_each_was_done_once(database, merchant, requests, answers)


async def test_a_lone_request_is_retried_while_the_server_is_still_committing_it(
    line: DatabaseProxy, database: Database, merchant: Merchant
) -> None:
    await make_a_commit_slow(database, amount=1000)
    answers = []

    for body, key in [(COLLECTION, None), (PAYOUT, None), (COLLECTION, "order-1"), (PAYOUT, "order-1")]:
        trap = line.proxy.trap(Fault.CUT_DURING, after=TAKES_PAYMENTS)
        answers.append(await create(line.client, body, key=key))
        await asyncio.wait_for(trap.server_is_done.wait(), 60)

    assert [(each.status, each.headers.get("Idempotency-Replayed")) for each in answers] == [(201, None)] * 4
    assert set(await database_facts.ids(database)) == {each.body["transaction"]["id"] for each in answers}
    assert len(await database_facts.ids(database)) == 4
    assert await database_facts.wallet(database, merchant.id) == (1_000_000 - 2000, 2000)
    await database_facts.assert_clean(database)


@pytest.mark.parametrize("fault", [Fault.CUT_AFTER, Fault.CUT_DURING])
async def test_a_wallet_spent_to_the_last_shilling_is_no_money_error_when_the_commit_is_asked_again(
    line: DatabaseProxy, database: Database, merchant: Merchant, fault: Fault
) -> None:
    """The second try finds the wallet empty, because the first try has emptied it."""
    if fault is Fault.CUT_DURING:
        await make_a_commit_slow(database, amount=1_000_000)
    line.proxy.trap(fault, after=TAKES_PAYMENTS)

    answer = await create(line.client, PAYOUT | {"amount": 1_000_000})

    assert (answer.status, answer.code) == (201, None)
    assert await database_facts.wallet(database, merchant.id) == (0, 1_000_000)
    await database_facts.assert_clean(database)


@pytest.mark.parametrize("payments", PAYMENTS)
async def test_a_line_that_is_cut_again_and_again_still_ends_in_one_payment(
    line: DatabaseProxy, database: Database, merchant: Merchant, payments: Payments
) -> None:
    requests = payments(8)

    riding, traps = await ride_together(
        line,
        requests,
        (Fault.CUT_BEFORE, TAKES_PAYMENTS),
        (Fault.CUT_AFTER, TAKES_PAYMENTS),
        # From here on the rows are there, and what is run again is only the question whether they are.
        (Fault.CUT_AFTER, "FROM transactions"),
        (Fault.CUT_BEFORE, "FROM transactions"),
    )
    answers = await at_once([said_by(task) for task in riding])

    assert all(trap.sprung.is_set() for trap in traps)
    await assert_each_was_done_once(database, merchant, requests, answers)


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER])
async def test_a_cancellation_whose_commit_is_cut_returns_the_money_once(
    line: DatabaseProxy, database: Database, merchant: Merchant, fault: Fault
) -> None:
    payouts = await at_once([create(line.client, PAYOUT) for _ in range(4)])
    ids = [answer.body["transaction"]["id"] for answer in payouts]
    trap = line.proxy.trap(fault, after="UPDATE transactions")

    answers = await at_once([line.client("POST", f"/v1/payments/{each}/cancel") for each in ids])

    assert trap.sprung.is_set()
    assert tally(answers) == {(200, None): 4}
    assert {answer.body["transaction"]["status"] for answer in answers} == {"CANCELLED"}
    assert await database_facts.wallet(database, merchant.id) == (1_000_000, 0)
    await database_facts.assert_clean(database)


@pytest.mark.parametrize("payments", PAYMENTS)
@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER])
async def test_a_database_that_stays_away_leaves_the_outcome_unknown_and_the_key_finds_it(
    impatient: DatabaseProxy, database: Database, merchant: Merchant, payments: Payments, fault: Fault
) -> None:
    requests = payments(8)

    riding, _ = await ride_together(impatient, requests, (fault, TAKES_PAYMENTS), stays_away=True)
    async with impatient.in_time(LITTLE_PATIENCE_SECONDS + 3):
        answers = await at_once([said_by(task) for task in riding])
    impatient.proxy.come_back()

    assert tally(answers) == {(503, "outcome_unknown"): 8}
    assert all(int(answer.headers["Retry-After"]) >= 1 for answer in answers)
    assert all(list(answer.body) == ["error"] for answer in answers)
    was_done = fault is Fault.CUT_AFTER
    keyed = [(body, key) for body, key in requests if key is not None]
    again = await at_once([create(impatient.client, body, key=key) for body, key in keyed])
    assert tally(again) == {(201, None): len(keyed)}
    assert all(("Idempotency-Replayed" in answer.headers) is was_done for answer in again)
    assert len(await database_facts.ids(database)) == 1 + (len(requests) if was_done else len(keyed))
    done = requests if was_done else keyed
    paid = sum(body["amount"] for body, _ in done if "recipientPhone" in body)
    assert await database_facts.wallet(database, merchant.id) == (1_000_000 - paid, paid)
    await database_facts.assert_clean(database)


@pytest.mark.parametrize("payments", PAYMENTS)
@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER])
async def test_a_hold_that_comes_while_a_commit_is_in_doubt_says_of_no_payment_that_nothing_was_done(
    line: DatabaseProxy, database: Database, merchant: Merchant, payments: Payments, fault: Fault
) -> None:
    """A client with that answer and without a key, or with one for each attempt, would pay once more."""
    requests = payments(4)
    riding, [trap] = await ride_together(line, requests, (fault, TAKES_PAYMENTS), stays_away=True)
    await trap.sprung.wait()
    if fault is Fault.CUT_AFTER:
        await asyncio.wait_for(trap.server_is_done.wait(), 60)
    async with database.begin() as tx:
        await installation.set_hold(tx, held_by="asha@operators.example", reason="a drill")
    line.proxy.come_back()
    answers = await at_once([said_by(task) for task in riding])

    if fault is Fault.CUT_AFTER:
        await assert_each_was_done_once(database, merchant, requests, answers)
    else:
        assert tally(answers) == {(503, "outcome_unknown"): len(requests)}
        assert len(await database_facts.ids(database)) == 1  # the one ahead
    told_later = await create(line.client, PAYOUT)
    assert (told_later.status, told_later.code) == (503, "on_hold")
    await database_facts.assert_clean(database)


async def test_a_database_that_goes_away_before_the_commit_has_done_nothing_and_says_so(
    impatient: DatabaseProxy, database: Database, merchant: Merchant
) -> None:
    trap = impatient.proxy.trap(Fault.CUT_BEFORE, after=TAKES_PAYMENTS, at_commit=False, stays_away=True)

    answer = await create(impatient.client, PAYOUT, key="order-1")
    impatient.proxy.come_back()

    assert trap.sprung.is_set()
    assert (answer.status, answer.code) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) >= 1
    assert await database_facts.ids(database) == []
    again = await create(impatient.client, PAYOUT, key="order-1")
    assert (again.status, again.headers.get("Idempotency-Replayed")) == (201, None)
    await database_facts.assert_clean(database)


async def test_an_approved_batch_that_cannot_be_read_for_its_answer_is_not_reported_as_unapproved(
    impatient: DatabaseProxy, database: Database, merchant: Merchant
) -> None:
    """ "Nothing was done; try again" would not be true: its payouts are made."""
    maker, approver = [impatient.client.as_(await key_of(database, merchant, each)) for each in PEOPLE]
    item = {"channel": "AIRTEL_MONEY", "amount": 1000, "recipientPhone": "+255684000001", "recipientName": "Juma"}
    made = await maker("POST", PATH, {"items": [item]})
    path = f"{PATH}/{made.body['batch']['id']}"
    impatient.proxy.trap(Fault.CUT_BEFORE, after="GROUP BY status", at_commit=False, stays_away=True)

    answer = await approver("POST", f"{path}/approve")
    impatient.proxy.come_back()

    assert (answer.status, answer.code) == (503, "outcome_unknown")
    assert (await maker("GET", path)).body["batch"]["status"] == "RUNNING"
    assert len(await database_facts.ids(database)) == 1

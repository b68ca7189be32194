"""A cancel, a submit and a settlement meet at the same payment: one wins, and each shilling moves once."""

import asyncio
import random

import pytest

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.payments.transaction import Cause
from tests.conftest import PAYOUT, Answer, Client, Merchant
from tests.journeys import database_facts
from tests.journeys.concurrency import at_once, create
from tests.journeys.money.racing import apis as apis
from tests.journeys.money.racing import held_up, news_of
from tests.status_changes import change_status


@pytest.mark.parametrize("first_in_line", ["cancel", "submit"])
async def test_of_a_cancel_and_a_submit_that_meet_exactly_one_wins(
    api: Client,
    service: Service,
    database: Database,
    database_url: str,
    merchant: Merchant,
    first_in_line: str,
) -> None:
    created = await at_once([create(api, PAYOUT) for _ in range(10)])
    # Rows are locked in the order of their ids, so whoever waits for the first one is passed by nobody.
    first, *rest = sorted(answer.body["transaction"]["id"] for answer in created)

    async def cancel(*payouts: str) -> list[Answer]:
        return await at_once([api("POST", f"/v1/payments/{each}/cancel") for each in payouts])

    async def submit(*payouts: str) -> list[bool]:
        outcomes = await at_once([change_status(service, news_of(merchant, each, Cause.SUBMITTED)) for each in payouts])
        return [outcome is not None and outcome.has_moved for outcome in outcomes]

    async with held_up(
        database_url, "SELECT * FROM transactions WHERE id = ANY($1) FOR UPDATE", [first, *rest]
    ) as until_waiting:
        if first_in_line == "cancel":
            cancelling = asyncio.create_task(cancel(first))
            await until_waiting(1)
            submitting = asyncio.create_task(submit(first))
        else:
            submitting = asyncio.create_task(submit(first))
            await until_waiting(1)
            cancelling = asyncio.create_task(cancel(first))
        await until_waiting(2)
        others = asyncio.gather(cancel(*rest), submit(*rest))
    cancelled, submitted = await cancelling, await submitting
    cancelled_others, submitted_others = await others
    assert submitted == [first_in_line == "submit"]
    cancelled, submitted = cancelled + cancelled_others, submitted + submitted_others

    for answer, has_moved in zip(cancelled, submitted, strict=True):
        assert (answer.status, answer.code) == ((409, "not_cancellable") if has_moved else (200, None))
    in_flight = 1000 * sum(submitted)
    assert await database_facts.wallet(database, merchant.id) == (1_000_000 - in_flight, in_flight)
    await database_facts.assert_clean(database)


async def test_cancels_and_settles_let_loose_on_the_same_payouts_move_each_shilling_once(
    apis: tuple[Client, Client], service: Service, database: Database, merchant: Merchant
) -> None:
    created = await at_once([create(apis[n % 2], PAYOUT) for n in range(40)])
    payouts = [answer.body["transaction"]["id"] for answer in created]

    async def settle(payout: str, end: Cause) -> bool:
        outcomes = [
            await change_status(service, news_of(merchant, payout, cause)) for cause in (Cause.SUBMITTED, end, end)
        ]
        assert all(outcomes)
        return [bool(outcome and outcome.has_moved) for outcome in outcomes] == [True, True, False]

    async def cancel(client: Client, payout: str) -> bool:
        await asyncio.sleep(random.uniform(0, 0.02))
        return (await client("POST", f"/v1/payments/{payout}/cancel")).status == 200

    ends = [Cause.CONFIRMED if n % 2 else Cause.REFUSED for n in range(len(payouts))]
    settled, *cancelled = await asyncio.gather(
        at_once([settle(payout, end) for payout, end in zip(payouts, ends, strict=True)]),
        *(at_once([cancel(api, payout) for payout in payouts]) for api in apis),
    )

    for n in range(len(payouts)):
        # Cancelling what the other process has cancelled is no error, so both say the same.
        assert settled[n] is not cancelled[0][n]
        assert cancelled[0][n] is cancelled[1][n]
    paid = 1000 * sum(done for done, end in zip(settled, ends, strict=True) if end is Cause.CONFIRMED)
    assert await database_facts.wallet(database, merchant.id) == (1_000_000 - paid, 0)
    await database_facts.assert_clean(database)

"""The database is away for a moment, as in a fail-over: requests take longer, and none of them fails."""

import asyncio

from malipo.db import Database
from tests.conftest import COLLECTION, PAYOUT, Answer
from tests.journeys import database_facts
from tests.journeys.concurrency import create, tally
from tests.journeys.outages.database_proxy import DatabaseProxy
from tests.journeys.outages.database_proxy import line as line

# Longer than a fail-over takes, shorter than the patience of this service (6 s).
_AWAY_SECONDS = 4.0
_ROUNDS = 8


async def test_a_short_outage_is_slowness_and_no_error_for_whoever_asks_once(
    line: DatabaseProxy, database: Database
) -> None:
    first = await create(line.client, COLLECTION)
    path = f"/v1/payments/{first.body['transaction']['id']}"

    def ask(number: int) -> list[asyncio.Task[Answer]]:
        asked = [
            create(line.client, COLLECTION, key=f"in-{number}"),
            create(line.client, PAYOUT, key=f"out-{number}"),
            create(line.client, COLLECTION),
            *(line.client("GET", each) for each in (path, "/v1/payments", "/v1/wallet", "/v1/events")),
        ]
        return [asyncio.create_task(each) for each in asked]

    line.proxy.go_away()
    asked = []
    for number in range(_ROUNDS):
        asked += ask(number)
        await asyncio.sleep(_AWAY_SECONDS / _ROUNDS)
    assert not any(each.done() for each in asked), "nobody can be answered without a database"
    line.proxy.come_back()
    answers = await asyncio.gather(*asked)

    assert tally(answers) == {(201, None): 3 * _ROUNDS, (200, None): 4 * _ROUNDS}
    assert len(await database_facts.ids(database)) == 1 + 3 * _ROUNDS
    await database_facts.assert_clean(database)

"""Two who ask for the same at once, and who asks while the worker is at it: each gets an answer that is true."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from malipo.outbox.event import Event
from tests.journeys import database_facts
from tests.journeys.concurrency import at_once, tally
from tests.journeys.full_stack import until
from tests.journeys.in_process_api import Scene, scene
from tests.journeys.webhook_receivers import Got, Line, good, in_turn, says


@pytest.fixture
async def here(database_url: str) -> AsyncIterator[Scene]:
    async with scene(database_url, webhook_timeout_seconds=30) as here:
        yield here
        await database_facts.assert_clean(here.place.database)


async def test_of_25_registrations_at_once_20_are_made_of_each_merchant(here: Scene) -> None:
    first, second = await here.place.merchant(), await here.place.merchant()
    body = {"url": here.receiver.url("/shop"), "events": list(Event)}
    for merchant in (first, second):  # Logged in before the race.
        assert (await here.door(merchant, "GET", "/merchant/webhooks")).body["endpoints"] == []

    answers = await at_once(
        [here.door(merchant, "POST", "/merchant/webhooks", body) for _ in range(25) for merchant in (first, second)]
    )

    assert tally(answers) == {(201, None): 40, (409, "too_many_webhooks"): 10}
    secrets = {answer.body["endpoint"]["secret"] for answer in answers if answer.status == 201}
    assert len(secrets) == 40
    for merchant in (first, second):
        made = (await here.door(merchant, "GET", "/merchant/webhooks")).body["endpoints"]
        assert len({each["id"] for each in made}) == 20
    assert (await here.door(first, "DELETE", f"/merchant/webhooks/{made[0]['id']}")).status == 404, "not theirs"
    assert (await here.door(second, "DELETE", f"/merchant/webhooks/{made[0]['id']}")).status == 200
    answers = await at_once([here.door(second, "POST", "/merchant/webhooks", body) for _ in range(3)])
    assert tally(answers) == {(201, None): 1, (409, "too_many_webhooks"): 2}


async def test_changes_at_once_are_all_kept(here: Scene) -> None:
    shop = await here.register("/shop")

    for number in range(5):
        url, events = here.receiver.url(f"/{number}"), [list(Event)[number]]
        await at_once(
            [
                here.change(shop, url=url),
                here.change(shop, events=events),
                here.change(shop, isActive=bool(number % 2)),
            ]
        )
        shown = await here.shown(shop)
        assert (shown["url"], shown["events"], shown["isActive"]) == (url, events, bool(number % 2))


async def test_of_two_rotations_at_once_one_begins(here: Scene) -> None:
    shop = await here.register("/shop")

    answers = await at_once([here.ask(shop, "POST", "/rotate-secret") for _ in range(6)])
    assert tally(answers) == {(200, None): 1, (409, "rotation_under_way"): 5}
    answers = await at_once([here.ask(shop, "POST", "/rotate-secret/finish") for _ in range(6)])
    assert tally(answers) == {(200, None): 1, (409, "no_rotation"): 5}


async def test_redeliveries_at_once_are_one_round(here: Scene) -> None:
    may_answer = asyncio.Event()

    async def holds(got: Got, line: Line) -> None:
        await may_answer.wait()
        await good(got, line)

    shop = await here.register("/shop", behaviour=in_turn(good, holds))
    await here.place.open(here.merchant)
    await here.until_states(shop, DELIVERED=1)
    [told] = await here.deliveries(shop)

    answers = await at_once([here.ask(shop, "POST", f"/deliveries/{told['id']}/redeliver") for _ in range(8)])
    assert tally(answers) == {(202, None): 8}
    may_answer.set()
    await here.until_states(shop, DELIVERED=1)
    await here.look()

    # Whoever asks while it is under way has asked for what is under way.
    assert len(here.receiver.at("/shop")) == 2
    assert len(here.receiver.ids("/shop")) == 1


async def test_recoveries_at_once_and_under_the_workers_hands_lose_nothing(here: Scene) -> None:
    began = here.hand()
    other = await here.register("/other")
    await here.place.open(here.merchant, 300)
    await here.until_states(other, DELIVERED=300)
    shop = await here.register("/shop", behaviour=says(500))

    since = {"since": began.isoformat()}
    answers = await at_once([here.ask(shop, "POST", "/recover", since) for _ in range(4)])
    assert tally(answers) == {(202, None): 4}
    assert max(answer.body["recovered"] for answer in answers) == 300
    here.receiver.behave("/shop", good)
    # What was refused meanwhile waits; what is under way just now is asked for once more.
    again = await at_once([here.ask(shop, "POST", "/recover", since) for _ in range(2)])
    assert tally(again) == {(202, None): 2}
    here.hand.move(timedelta(hours=1))
    await here.until_states(shop, DELIVERED=300)

    assert here.receiver.ids("/shop") == here.receiver.ids("/other")
    last = await here.ask(shop, "POST", "/recover", since)
    assert (last.status, last.body["recovered"]) == (202, 0)


async def test_an_endpoint_deleted_under_the_workers_hands_gets_only_what_was_on_its_way(here: Scene) -> None:
    shop, other = await here.register("/shop", behaviour=says(500, after_seconds=0.5)), await here.register("/other")
    await here.place.open(here.merchant, 50)
    await until(lambda: _are_under_way(here), pause=0.01, what="deliveries on their way")

    assert (await here.ask(shop, "DELETE")).status == 200
    # What was claimed before it was deleted may still arrive; its answers are written down as ever.
    await until(lambda: _is_quiet(here), what="the end of what was on its way")
    before = len(here.receiver.at("/shop"))
    here.hand.move(timedelta(hours=1))
    await here.place.open(here.merchant, 10)
    await here.until_states(other, DELIVERED=60)
    await here.look()

    assert len(here.receiver.at("/shop")) == before < 50


async def _are_under_way(here: Scene) -> bool:
    return here.receiver.under_way["/shop"] > 0


async def _is_quiet(here: Scene) -> bool:
    before = len(here.receiver.at("/shop"))
    await asyncio.sleep(0.7)
    return here.receiver.under_way["/shop"] == 0 and len(here.receiver.at("/shop")) == before

"""Two who ask for the same at once, and who asks while the worker is at it: each gets an answer that is true."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from malipo.outbox.event import Event
from tests.journeys import database_facts
from tests.journeys.concurrency import at_once, tally
from tests.journeys.full_stack import until
from tests.journeys.in_process_api import WebhookScenario, webhook_scenario
from tests.journeys.webhook_receivers import Got, Line, good, in_turn, says


@pytest.fixture
async def scenario(database_url: str) -> AsyncIterator[WebhookScenario]:
    async with webhook_scenario(database_url, webhook_timeout_seconds=30) as scenario:
        yield scenario
        await database_facts.assert_clean(scenario.stack.database)


async def test_of_25_registrations_at_once_20_are_made_of_each_merchant(scenario: WebhookScenario) -> None:
    first, second = await scenario.stack.merchant(), await scenario.stack.merchant()
    body = {"url": scenario.receiver.url("/shop"), "events": list(Event)}
    for merchant in (first, second):  # Logged in before the race.
        assert (await scenario.api(merchant, "GET", "/merchant/webhooks")).body["endpoints"] == []

    answers = await at_once(
        [scenario.api(merchant, "POST", "/merchant/webhooks", body) for _ in range(25) for merchant in (first, second)]
    )

    assert tally(answers) == {(201, None): 40, (409, "too_many_webhooks"): 10}
    secrets = {answer.body["endpoint"]["secret"] for answer in answers if answer.status == 201}
    assert len(secrets) == 40
    for merchant in (first, second):
        made = (await scenario.api(merchant, "GET", "/merchant/webhooks")).body["endpoints"]
        assert len({each["id"] for each in made}) == 20
    assert (await scenario.api(first, "DELETE", f"/merchant/webhooks/{made[0]['id']}")).status == 404, "not theirs"
    assert (await scenario.api(second, "DELETE", f"/merchant/webhooks/{made[0]['id']}")).status == 200
    answers = await at_once([scenario.api(second, "POST", "/merchant/webhooks", body) for _ in range(3)])
    assert tally(answers) == {(201, None): 1, (409, "too_many_webhooks"): 2}


async def test_changes_at_once_are_all_kept(scenario: WebhookScenario) -> None:
    shop = await scenario.register("/shop")

    for number in range(5):
        url, events = scenario.receiver.url(f"/{number}"), [list(Event)[number]]
        await at_once(
            [
                scenario.change(shop, url=url),
                scenario.change(shop, events=events),
                scenario.change(shop, isActive=bool(number % 2)),
            ]
        )
        shown = await scenario.shown(shop)
        assert (shown["url"], shown["events"], shown["isActive"]) == (url, events, bool(number % 2))


async def test_of_two_rotations_at_once_one_begins(scenario: WebhookScenario) -> None:
    shop = await scenario.register("/shop")

    answers = await at_once([scenario.ask(shop, "POST", "/rotate-secret") for _ in range(6)])
    assert tally(answers) == {(200, None): 1, (409, "rotation_under_way"): 5}
    answers = await at_once([scenario.ask(shop, "POST", "/rotate-secret/finish") for _ in range(6)])
    assert tally(answers) == {(200, None): 1, (409, "no_rotation"): 5}


async def test_redeliveries_at_once_are_one_round(scenario: WebhookScenario) -> None:
    may_answer = asyncio.Event()

    async def holds(got: Got, line: Line) -> None:
        await may_answer.wait()
        await good(got, line)

    shop = await scenario.register("/shop", behaviour=in_turn(good, holds))
    await scenario.stack.open(scenario.merchant)
    await scenario.until_states(shop, DELIVERED=1)
    [delivered] = await scenario.deliveries(shop)

    answers = await at_once([scenario.ask(shop, "POST", f"/deliveries/{delivered['id']}/redeliver") for _ in range(8)])
    assert tally(answers) == {(202, None): 8}
    may_answer.set()
    await scenario.until_states(shop, DELIVERED=1)
    await scenario.look()

    # Whoever asks while it is under way has asked for what is under way.
    assert len(scenario.receiver.at("/shop")) == 2
    assert len(scenario.receiver.ids("/shop")) == 1


async def test_recoveries_at_once_and_under_the_workers_hands_lose_nothing(scenario: WebhookScenario) -> None:
    began = scenario.manual_clock()
    other = await scenario.register("/other")
    await scenario.stack.open(scenario.merchant, 300)
    await scenario.until_states(other, DELIVERED=300)
    shop = await scenario.register("/shop", behaviour=says(500))

    since = {"since": began.isoformat()}
    answers = await at_once([scenario.ask(shop, "POST", "/recover", since) for _ in range(4)])
    assert tally(answers) == {(202, None): 4}
    assert max(answer.body["recovered"] for answer in answers) == 300
    scenario.receiver.behave("/shop", good)
    # What was refused meanwhile waits; what is under way just now is asked for once more.
    again = await at_once([scenario.ask(shop, "POST", "/recover", since) for _ in range(2)])
    assert tally(again) == {(202, None): 2}
    scenario.manual_clock.move(timedelta(hours=1))
    await scenario.until_states(shop, DELIVERED=300)

    assert scenario.receiver.ids("/shop") == scenario.receiver.ids("/other")
    last = await scenario.ask(shop, "POST", "/recover", since)
    assert (last.status, last.body["recovered"]) == (202, 0)


async def test_an_endpoint_deleted_under_the_workers_hands_gets_only_what_was_on_its_way(
    scenario: WebhookScenario,
) -> None:
    shop, other = (
        await scenario.register("/shop", behaviour=says(500, after_seconds=0.5)),
        await scenario.register("/other"),
    )
    await scenario.stack.open(scenario.merchant, 50)
    await until(lambda: _are_under_way(scenario), pause=0.01, what="deliveries on their way")

    assert (await scenario.ask(shop, "DELETE")).status == 200
    # What was claimed before it was deleted may still arrive; its answers are written down as ever.
    await until(lambda: _is_quiet(scenario), what="the end of what was on its way")
    before = len(scenario.receiver.at("/shop"))
    scenario.manual_clock.move(timedelta(hours=1))
    await scenario.stack.open(scenario.merchant, 10)
    await scenario.until_states(other, DELIVERED=60)
    await scenario.look()

    assert len(scenario.receiver.at("/shop")) == before < 50


async def _are_under_way(scenario: WebhookScenario) -> bool:
    return scenario.receiver.under_way["/shop"] > 0


async def _is_quiet(scenario: WebhookScenario) -> bool:
    before = len(scenario.receiver.at("/shop"))
    await asyncio.sleep(0.7)
    return scenario.receiver.under_way["/shop"] == 0 and len(scenario.receiver.at("/shop")) == before

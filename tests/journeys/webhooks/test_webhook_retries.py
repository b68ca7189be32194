"""When a delivery is tried again, and when it is not: the specification's delays, to the millisecond, on a clock of ours.

That nothing was sent too early is known, not waited for: a test call to another endpoint comes back only when the worker
has looked for what is due.
"""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.journeys.in_process_api import WebhookScenario, webhook_scenario
from tests.journeys.webhook_receivers import Behaviour, good, hangs, hangs_up, in_turn, says
from tests.journeys.webhook_stack import RegisteredEndpoint

# Written by hand from the specification.
DELAYS = [
    timedelta(seconds=30),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=12),
]
A_MOMENT = timedelta(milliseconds=1)


@pytest.fixture
async def scenario(database_url: str) -> AsyncIterator[WebhookScenario]:
    async with webhook_scenario(database_url) as scenario:
        yield scenario


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def _after(scenario: WebhookScenario, endpoint: RegisteredEndpoint, attempts: int) -> dict[str, Any]:
    """The one delivery there is, when so many attempts are written down."""
    await scenario.until_attempts(endpoint, attempts)
    [shown] = await scenario.deliveries(endpoint)
    assert len(shown["attempts"]) == len(scenario.receiver.at("/shop")) == attempts
    return shown


async def _fail_a_round(scenario: WebhookScenario, endpoint: RegisteredEndpoint, *, before: int = 0) -> dict[str, Any]:
    """Six attempts, each at its time and not a millisecond earlier; the delivery after them."""
    for number, delay in enumerate(DELAYS, start=before + 1):
        shown = await _after(scenario, endpoint, number)
        last = shown["attempts"][-1]
        due = _moment(last["at"]) + timedelta(milliseconds=last["durationMs"]) + delay
        assert shown["state"] == "PENDING"
        assert _moment(shown["nextAttemptAt"]) == due, number

        scenario.manual_clock.move_to(due - A_MOMENT)
        await scenario.look()
        assert len(scenario.receiver.at("/shop")) == number, "not a millisecond earlier"
        scenario.manual_clock.move_to(due)
        await scenario.look()
    return await _after(scenario, endpoint, before + 6)


async def test_a_delivery_is_tried_six_times_and_then_no_more_until_somebody_asks(scenario: WebhookScenario) -> None:
    # As slow as a test can bear: what is counted from the beginning of an attempt would be too early by that.
    slowly = in_turn(says(500, after_seconds=0.3), hangs, hangs_up, says(404), says(302), says(503))
    endpoint = await scenario.register("/shop", behaviour=slowly)
    began = scenario.manual_clock()
    await scenario.stack.open(scenario.merchant)

    first_round = await _fail_a_round(scenario, endpoint)
    assert first_round["state"] == "EXHAUSTED"
    assert "nextAttemptAt" not in first_round
    durations = [each["durationMs"] for each in first_round["attempts"]]
    # By uvloop's clock, which stands while a turn of the loop lasts, so that on a busy machine it takes less.
    assert durations[0] >= 100
    assert durations[1] >= 500
    assert [each.get("status") for each in first_round["attempts"]] == [500, None, None, 404, 302, 503]
    scenario.manual_clock.move(timedelta(days=3))
    await scenario.look()
    assert len(scenario.receiver.at("/shop")) == 6

    again = await scenario.ask(endpoint, "POST", f"/deliveries/{first_round['id']}/redeliver")
    assert again.status == 202
    assert (await _fail_a_round(scenario, endpoint, before=6))["state"] == "EXHAUSTED"

    scenario.receiver.behave("/shop", good)
    scenario.manual_clock.move(timedelta(minutes=1))
    await scenario.look()
    assert len(scenario.receiver.at("/shop")) == 12
    recovered = await scenario.ask(endpoint, "POST", "/recover", {"since": began.isoformat()})
    assert (recovered.status, recovered.body["recovered"]) == (202, 1)
    assert (await _after(scenario, endpoint, 13))["state"] == "DELIVERED"

    came = scenario.receiver.at("/shop")
    assert len({got.id for got in came}) == len({got.body for got in came}) == 1
    assert len({got.headers["x-service-delivery"] for got in came}) == 13
    stamps = [int(got.headers["webhook-timestamp"]) for got in came]
    assert stamps == sorted(set(stamps)), "each attempt is signed with its own time"


ANSWERS: list[tuple[str, Behaviour, str]] = [
    ("200", says(200), "DELIVERED"),
    ("201", says(201), "DELIVERED"),
    ("204", says(204), "DELIVERED"),
    ("299", says(299, b"whatever"), "DELIVERED"),
    ("300", says(300), "PENDING"),
    ("301", says(301, headers=(("Location", b"/elsewhere"),)), "PENDING"),
    ("307", says(307, headers=(("Location", b"/elsewhere"),)), "PENDING"),
    ("304", says(304), "PENDING"),
    ("400", says(400), "PENDING"),
    ("401", says(401), "PENDING"),
    ("404", says(404), "PENDING"),
    ("408", says(408), "PENDING"),
    ("410", says(410), "EXHAUSTED"),
    ("429", says(429), "PENDING"),
    ("500", says(500), "PENDING"),
    ("503", says(503, headers=(("Retry-After", b"1"),)), "PENDING"),
    ("none", hangs_up, "PENDING"),
    ("too late", hangs, "PENDING"),
]


async def test_only_a_2xx_in_time_is_a_success(scenario: WebhookScenario) -> None:
    stands = {
        what: await scenario.register(f"/{stack}", behaviour=behaviour)
        for stack, (what, behaviour, _) in enumerate(ANSWERS)
    }
    await scenario.stack.open(scenario.merchant)

    for endpoint in stands.values():
        await scenario.until_attempts(endpoint, 1)
    states = {what: list(await scenario.stack.states(endpoint)) for what, endpoint in stands.items()}
    assert states == {what: [state] for what, _, state in ANSWERS}
    assert scenario.receiver.at("/elsewhere") == [], "no redirect is followed"

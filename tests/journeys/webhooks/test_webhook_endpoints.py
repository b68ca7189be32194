"""The life of an endpoint: subscribed, failing, gone, paused, moved and deleted; and which events it gets meanwhile."""

import base64
import hashlib
import hmac
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from malipo.outbox.event import Event
from malipo.webhooks.store import endpoints, recovery
from tests.journeys import database_facts
from tests.journeys.in_process_api import WebhookScenario, webhook_scenario
from tests.journeys.webhook_receivers import Got, gone, good, says
from tests.journeys.webhook_stack import RegisteredEndpoint

PENDING, CANCELLED = Event.PAYMENT_PENDING, Event.PAYMENT_CANCELLED
A_MOMENT = timedelta(milliseconds=1)
FIVE_DAYS = timedelta(days=5)


@pytest.fixture
async def scenario(database_url: str) -> AsyncIterator[WebhookScenario]:
    async with webhook_scenario(database_url) as scenario:
        yield scenario
        await database_facts.assert_clean(scenario.stack.database)


async def test_a_receiver_that_is_gone_is_switched_off_alone_and_goes_on_when_it_is_switched_on(
    scenario: WebhookScenario,
) -> None:
    shop, other = await scenario.register("/shop", behaviour=gone), await scenario.register("/other")
    began = scenario.manual_clock()
    await scenario.stack.open(scenario.merchant, 10)

    await scenario.until_states(other, DELIVERED=10)
    shown = await scenario.shown(shop)
    assert (shown["isActive"], shown["switchedOffReason"]) == (False, "The receiver answered 410 Gone.")
    assert datetime.fromisoformat(shown["switchedOffAt"]) == scenario.manual_clock()
    assert (await scenario.shown(other))["isActive"]
    # A delivery that was under way was sent too. The rest waits.
    await scenario.look()
    rest = await scenario.stack.states(shop)
    asked = len(scenario.receiver.at("/shop"))
    assert rest == {"EXHAUSTED": asked, "PENDING": 10 - asked}
    assert rest["PENDING"] > 0

    scenario.receiver.behave("/shop", good)
    await scenario.stack.open(scenario.merchant, 3)
    await scenario.until_states(other, DELIVERED=13)
    scenario.manual_clock.move(timedelta(hours=1))
    await scenario.look()
    assert len(scenario.receiver.at("/shop")) == asked, "nothing more is sent to it"
    assert await scenario.stack.states(shop) == rest, "and nothing more is kept for it"

    shown = await scenario.change(shop, isActive=True)
    assert set(shown) == {"id", "url", "events", "isActive", "createdAt"}
    await scenario.until_states(shop, DELIVERED=10 - asked, EXHAUSTED=asked)
    recovered = await scenario.ask(shop, "POST", "/recover", {"since": began.isoformat()})
    assert recovered.body["recovered"] == asked + 3
    await scenario.until_states(shop, DELIVERED=13)
    assert scenario.receiver.ids("/shop") == scenario.receiver.ids("/other")


async def test_an_endpoint_that_fails_for_five_days_is_switched_off(scenario: WebhookScenario) -> None:
    shop, other = await scenario.register("/shop", behaviour=says(500)), await scenario.register("/other")
    began = scenario.manual_clock()
    await scenario.stack.open(scenario.merchant)
    await scenario.until_attempts(shop, 1)
    assert datetime.fromisoformat((await scenario.shown(shop))["failingSince"]) == began

    scenario.manual_clock.move_to(began + FIVE_DAYS - A_MOMENT)
    await scenario.stack.open(scenario.merchant)
    await scenario.until_attempts(shop, 3)  # The first event is due again too.
    assert (await scenario.shown(shop))["isActive"], "not a millisecond earlier"
    scenario.manual_clock.move_to(began + FIVE_DAYS)
    await scenario.stack.open(scenario.merchant)
    await scenario.until_attempts(shop, 4)

    shown = await scenario.shown(shop)
    assert (shown["isActive"], shown["switchedOffReason"]) == (False, "Every attempt has failed for 5 days.")
    assert datetime.fromisoformat(shown["switchedOffAt"]) == began + FIVE_DAYS
    assert datetime.fromisoformat(shown["failingSince"]) == began
    assert (await scenario.shown(other))["isActive"]
    trail = await scenario.stack.rows("SELECT FROM audit_log WHERE action = 'webhook.switched_off'")
    assert len(trail) == 1

    shown = await scenario.change(shop, isActive=True)
    assert "failingSince" not in shown, "it begins with a clean record"
    scenario.manual_clock.move(timedelta(minutes=1))
    await scenario.until_attempts(shop, 5)
    assert (await scenario.shown(shop))["isActive"]


async def test_one_success_clears_a_bad_record(scenario: WebhookScenario) -> None:
    shop = await scenario.register("/shop", behaviour=says(500))
    await scenario.stack.open(scenario.merchant)
    await scenario.until_attempts(shop, 1)
    assert "failingSince" in await scenario.shown(shop)

    scenario.manual_clock.move(timedelta(days=4))
    scenario.receiver.behave("/shop", good)
    await scenario.look()
    await scenario.until_states(shop, DELIVERED=1)
    assert "failingSince" not in await scenario.shown(shop)

    scenario.manual_clock.move(timedelta(days=2))
    scenario.receiver.behave("/shop", says(500))
    await scenario.stack.open(scenario.merchant)
    await scenario.until_attempts(shop, 3)
    shown = await scenario.shown(shop)
    assert (shown["isActive"], datetime.fromisoformat(shown["failingSince"])) == (True, scenario.manual_clock())


async def test_a_paused_endpoint_gets_no_delivery_and_missed_events_can_be_recovered(scenario: WebhookScenario) -> None:
    shop, other = await scenario.register("/shop", behaviour=says(500)), await scenario.register("/other")
    await scenario.stack.open(scenario.merchant)
    await scenario.until_attempts(shop, 1)
    shown = await scenario.change(shop, isActive=False)
    assert (shown["isActive"], "switchedOffReason" in shown) == (False, False)
    paused = scenario.manual_clock()
    scenario.receiver.behave("/shop", good)

    for what in ("/test", "/recover", f"/deliveries/{(await scenario.deliveries(shop))[0]['id']}/redeliver"):
        answer = await scenario.ask(shop, "POST", what, {"since": paused.isoformat()})
        assert (answer.status, answer.code) == (409, "webhook_inactive"), what
    scenario.manual_clock.move(timedelta(hours=1))
    await scenario.stack.open(scenario.merchant, 5)
    await scenario.until_states(other, DELIVERED=6)
    await scenario.look()
    assert len(scenario.receiver.at("/shop")) == 1
    assert await scenario.stack.states(shop) == {"PENDING": 1}

    await scenario.change(shop, isActive=True)
    await scenario.until_states(shop, DELIVERED=1)
    recovered = await scenario.ask(shop, "POST", "/recover", {"since": paused.isoformat()})
    assert recovered.body["recovered"] == 5
    await scenario.until_states(shop, DELIVERED=6)
    assert len(scenario.receiver.at("/shop")) == 7, "what was delivered is not recovered"


async def test_recovery_begins_at_its_moment(scenario: WebhookScenario) -> None:
    await scenario.register("/other")
    await scenario.stack.open(scenario.merchant, 2)
    scenario.manual_clock.move(timedelta(seconds=1))
    since = scenario.manual_clock()
    await scenario.stack.open(scenario.merchant, 3)
    await scenario.look()
    shop = await scenario.register("/shop")

    nothing = await scenario.ask(shop, "POST", "/recover", {"since": (since + A_MOMENT).isoformat()})
    assert (nothing.status, nothing.body["recovered"]) == (202, 0)
    some = await scenario.ask(shop, "POST", "/recover", {"since": since.isoformat()})
    assert some.body["recovered"] == 3
    everything = await scenario.ask(shop, "POST", "/recover", {"since": "2020-01-01T00:00:00Z"})
    assert 2 <= everything.body["recovered"] <= 5
    await scenario.until_states(shop, DELIVERED=5)
    assert scenario.receiver.ids("/shop") == scenario.receiver.ids("/other")


async def test_a_recovery_of_many_comes_in_parts_of_which_none_is_left_out(scenario: WebhookScenario) -> None:
    await scenario.stack.open(scenario.merchant, 7)
    await scenario.look()
    endpoint = await scenario.register("/shop", behaviour=says(500))
    async with scenario.stack.database.read() as connection:
        stored = await endpoints.get(connection, scenario.merchant.id, endpoint.id)
    assert stored is not None
    parts: list[int] = []
    last: str | None = None
    while last is not None or not parts:
        async with scenario.stack.database.begin() as tx:
            number, last = await recovery.recover(
                tx, stored, since=scenario.manual_clock(), after=last, most=3, now=scenario.manual_clock()
            )
        parts.append(number)

    assert parts == [3, 3, 1]
    await scenario.until_states(endpoint, PENDING=7)


async def test_a_deleted_endpoint_gets_no_delivery_and_its_secrets_are_gone(scenario: WebhookScenario) -> None:
    shop, other = await scenario.register("/shop", behaviour=says(500)), await scenario.register("/other")
    await scenario.ask(shop, "POST", "/rotate-secret")
    await scenario.stack.open(scenario.merchant, 3)
    await scenario.until_attempts(shop, 3)
    assert (await scenario.ask(shop, "DELETE")).status == 200

    scenario.receiver.behave("/shop", good)
    scenario.manual_clock.move(timedelta(hours=1))
    await scenario.stack.open(scenario.merchant, 2)
    await scenario.until_states(other, DELIVERED=5)
    await scenario.look()
    assert len(scenario.receiver.at("/shop")) == 3
    assert {(await scenario.ask(shop, "GET", path)).status for path in ("", "/deliveries")} == {404}
    assert (await scenario.ask(shop, "PATCH", body={"isActive": True})).status == 404
    assert (await scenario.ask(shop, "POST", "/recover", {"since": "2020-01-01T00:00:00Z"})).status == 404
    [row] = await scenario.stack.rows("SELECT secret, next_secret FROM webhook_endpoints WHERE id = $1", shop.id)
    assert (row["secret"], row["next_secret"]) == (b"", None)


async def test_an_endpoint_gets_only_the_events_that_it_subscribes_to_from_then_on(scenario: WebhookScenario) -> None:
    shop, everything = await scenario.register("/shop", [PENDING]), await scenario.register("/all", tuple(Event))
    opened = await scenario.stack.open(scenario.merchant, 4)
    await scenario.until_states(shop, DELIVERED=4)
    await scenario.stack.take_back(opened[:2])
    await scenario.until_states(everything, DELIVERED=6)
    assert {got.event for got in scenario.receiver.at("/shop")} == {"payment.pending"}

    await scenario.change(shop, events=[CANCELLED])
    await scenario.stack.take_back(opened[2:])
    await scenario.stack.open(scenario.merchant, 3)
    await scenario.until_states(everything, DELIVERED=11)
    await scenario.until_states(shop, DELIVERED=6)
    assert [got.event for got in scenario.receiver.at("/shop")[4:]] == ["payment.cancelled"] * 2

    recovered = await scenario.ask(shop, "POST", "/recover", {"since": "2020-01-01T00:00:00Z"})
    assert recovered.body["recovered"] == 2, "of the events of the pause, those that it subscribes to now"
    await scenario.until_states(shop, DELIVERED=8)
    assert sum(got.event == "payment.pending" for got in scenario.receiver.at("/shop")) == 4


async def test_a_changed_address_counts_for_what_waits(scenario: WebhookScenario) -> None:
    shop = await scenario.register("/old", behaviour=says(500))
    await scenario.stack.open(scenario.merchant, 2)
    await scenario.until_attempts(shop, 2)

    await scenario.change(shop, url=scenario.receiver.url("/new"))
    scenario.manual_clock.move(timedelta(hours=1))
    await scenario.until_states(shop, DELIVERED=2)

    assert len(scenario.receiver.at("/old")) == 2
    assert scenario.receiver.ids("/new") == scenario.receiver.ids("/old")
    assert (await scenario.shown(shop))["url"] == scenario.receiver.url("/new")


def _hex(secret: str, got: Got) -> str:
    return hmac.new(secret.encode(), got.body, hashlib.sha256).hexdigest()


def _standard(secret: str, got: Got) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{got.id}.{got.headers['webhook-timestamp']}.".encode() + got.body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def _assert_signed_with(got: Got, secret: str, next_secret: str | None = None) -> None:
    both = [secret] if next_secret is None else [secret, next_secret]
    assert got.headers["x-service-signature"] == _hex(secret, got)
    assert got.headers.get("x-service-signature-next") == (_hex(next_secret, got) if next_secret else None)
    assert got.headers["webhook-signature"].split(" ") == [_standard(each, got) for each in both]


async def _first_delivery(scenario: WebhookScenario, endpoint: RegisteredEndpoint) -> Got:
    """What the endpoint gets of a new event."""
    before = len(scenario.receiver.at("/shop"))
    await scenario.stack.open(scenario.merchant)
    await scenario.until_attempts(endpoint, before + 1)
    return scenario.receiver.at("/shop")[-1]


async def _rotate(scenario: WebhookScenario, endpoint: RegisteredEndpoint) -> str:
    answer = await scenario.ask(endpoint, "POST", "/rotate-secret")
    assert answer.status == 200, answer.body
    assert datetime.fromisoformat(answer.body["endpoint"]["rotationEndsAt"]) == scenario.manual_clock() + timedelta(
        hours=24
    )
    return str(answer.body["endpoint"]["secret"])


async def test_while_a_secret_is_changed_both_sign_for_24_hours_and_then_the_new_one_alone(
    scenario: WebhookScenario,
) -> None:
    endpoint = await scenario.register("/shop")
    _assert_signed_with(await _first_delivery(scenario, endpoint), endpoint.secret)

    second = await _rotate(scenario, endpoint)
    began = scenario.manual_clock()
    _assert_signed_with(await _first_delivery(scenario, endpoint), endpoint.secret, second)
    refused = await scenario.ask(endpoint, "POST", "/rotate-secret")
    assert (refused.status, refused.code) == (409, "rotation_under_way")

    scenario.manual_clock.move_to(began + timedelta(hours=24) - A_MOMENT)
    _assert_signed_with(await _first_delivery(scenario, endpoint), endpoint.secret, second)
    scenario.manual_clock.move_to(began + timedelta(hours=24))
    _assert_signed_with(await _first_delivery(scenario, endpoint), second)
    assert "rotationEndsAt" not in await scenario.shown(endpoint)

    third = await _rotate(scenario, endpoint)
    _assert_signed_with(await _first_delivery(scenario, endpoint), second, third)
    assert (await scenario.ask(endpoint, "POST", "/rotate-secret/finish")).status == 200
    _assert_signed_with(await _first_delivery(scenario, endpoint), third)
    refused = await scenario.ask(endpoint, "POST", "/rotate-secret/finish")
    assert (refused.status, refused.code) == (409, "no_rotation")
    assert len({endpoint.secret, second, third}) == 3


async def test_a_waiting_delivery_is_signed_with_the_secret_at_the_time_of_sending(scenario: WebhookScenario) -> None:
    endpoint = await scenario.register("/shop", behaviour=says(500))
    _assert_signed_with(await _first_delivery(scenario, endpoint), endpoint.secret)
    second = await _rotate(scenario, endpoint)
    await scenario.ask(endpoint, "POST", "/rotate-secret/finish")

    scenario.manual_clock.move(timedelta(minutes=1))
    await scenario.until_attempts(endpoint, 2)

    first, again = scenario.receiver.at("/shop")
    _assert_signed_with(again, second)
    assert (again.id, again.body) == (first.id, first.body)

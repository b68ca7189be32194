"""An endpoint's life: subscribed, failing, gone, paused, moved and deleted; and who is told what meanwhile."""

import base64
import hashlib
import hmac
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from malipo.outbox.event import Event
from malipo.webhooks.store import endpoints, resends
from tests.journeys import database_facts
from tests.journeys.in_process_api import Scene, scene
from tests.journeys.webhook_receivers import Got, gone, good, says
from tests.journeys.webhook_stack import Stand

PENDING, CANCELLED = Event.PAYMENT_PENDING, Event.PAYMENT_CANCELLED
A_MOMENT = timedelta(milliseconds=1)
FIVE_DAYS = timedelta(days=5)


@pytest.fixture
async def here(database_url: str) -> AsyncIterator[Scene]:
    async with scene(database_url) as here:
        yield here
        await database_facts.assert_clean(here.place.database)


async def test_a_receiver_that_is_gone_is_switched_off_alone_and_goes_on_when_it_is_switched_on(here: Scene) -> None:
    shop, other = await here.register("/shop", behaviour=gone), await here.register("/other")
    began = here.hand()
    await here.place.open(here.merchant, 10)

    await here.until_states(other, DELIVERED=10)
    shown = await here.shown(shop)
    assert (shown["isActive"], shown["switchedOffReason"]) == (False, "The receiver answered 410 Gone.")
    assert datetime.fromisoformat(shown["switchedOffAt"]) == here.hand()
    assert (await here.shown(other))["isActive"]
    # What was under way was told so too. The rest rests.
    await here.look()
    rest = await here.place.states(shop)
    asked = len(here.receiver.at("/shop"))
    assert rest == {"EXHAUSTED": asked, "PENDING": 10 - asked}
    assert rest["PENDING"] > 0

    here.receiver.behave("/shop", good)
    await here.place.open(here.merchant, 3)
    await here.until_states(other, DELIVERED=13)
    here.hand.move(timedelta(hours=1))
    await here.look()
    assert len(here.receiver.at("/shop")) == asked, "nothing more is sent to it"
    assert await here.place.states(shop) == rest, "and nothing more is kept for it"

    shown = await here.change(shop, isActive=True)
    assert set(shown) == {"id", "url", "events", "isActive", "createdAt"}
    await here.until_states(shop, DELIVERED=10 - asked, EXHAUSTED=asked)
    recovered = await here.ask(shop, "POST", "/recover", {"since": began.isoformat()})
    assert recovered.body["recovered"] == asked + 3
    await here.until_states(shop, DELIVERED=13)
    assert here.receiver.ids("/shop") == here.receiver.ids("/other")


async def test_an_endpoint_that_fails_for_five_days_is_switched_off(here: Scene) -> None:
    shop, other = await here.register("/shop", behaviour=says(500)), await here.register("/other")
    began = here.hand()
    await here.place.open(here.merchant)
    await here.until_attempts(shop, 1)
    assert datetime.fromisoformat((await here.shown(shop))["failingSince"]) == began

    here.hand.move_to(began + FIVE_DAYS - A_MOMENT)
    await here.place.open(here.merchant)
    await here.until_attempts(shop, 3)  # The first event is due again too.
    assert (await here.shown(shop))["isActive"], "not a millisecond earlier"
    here.hand.move_to(began + FIVE_DAYS)
    await here.place.open(here.merchant)
    await here.until_attempts(shop, 4)

    shown = await here.shown(shop)
    assert (shown["isActive"], shown["switchedOffReason"]) == (False, "Every attempt has failed for 5 days.")
    assert datetime.fromisoformat(shown["switchedOffAt"]) == began + FIVE_DAYS
    assert datetime.fromisoformat(shown["failingSince"]) == began
    assert (await here.shown(other))["isActive"]
    trail = await here.place.rows("SELECT FROM audit_log WHERE action = 'webhook.switched_off'")
    assert len(trail) == 1

    shown = await here.change(shop, isActive=True)
    assert "failingSince" not in shown, "it begins with a clean record"
    here.hand.move(timedelta(minutes=1))
    await here.until_attempts(shop, 5)
    assert (await here.shown(shop))["isActive"]


async def test_one_success_clears_a_bad_record(here: Scene) -> None:
    shop = await here.register("/shop", behaviour=says(500))
    await here.place.open(here.merchant)
    await here.until_attempts(shop, 1)
    assert "failingSince" in await here.shown(shop)

    here.hand.move(timedelta(days=4))
    here.receiver.behave("/shop", good)
    await here.look()
    await here.until_states(shop, DELIVERED=1)
    assert "failingSince" not in await here.shown(shop)

    here.hand.move(timedelta(days=2))
    here.receiver.behave("/shop", says(500))
    await here.place.open(here.merchant)
    await here.until_attempts(shop, 3)
    shown = await here.shown(shop)
    assert (shown["isActive"], datetime.fromisoformat(shown["failingSince"])) == (True, here.hand())


async def test_a_paused_endpoint_is_told_nothing_and_what_it_missed_can_be_recovered(here: Scene) -> None:
    shop, other = await here.register("/shop", behaviour=says(500)), await here.register("/other")
    await here.place.open(here.merchant)
    await here.until_attempts(shop, 1)
    shown = await here.change(shop, isActive=False)
    assert (shown["isActive"], "switchedOffReason" in shown) == (False, False)
    paused = here.hand()
    here.receiver.behave("/shop", good)

    for what in ("/test", "/recover", f"/deliveries/{(await here.deliveries(shop))[0]['id']}/redeliver"):
        answer = await here.ask(shop, "POST", what, {"since": paused.isoformat()})
        assert (answer.status, answer.code) == (409, "webhook_inactive"), what
    here.hand.move(timedelta(hours=1))
    await here.place.open(here.merchant, 5)
    await here.until_states(other, DELIVERED=6)
    await here.look()
    assert len(here.receiver.at("/shop")) == 1
    assert await here.place.states(shop) == {"PENDING": 1}

    await here.change(shop, isActive=True)
    await here.until_states(shop, DELIVERED=1)
    recovered = await here.ask(shop, "POST", "/recover", {"since": paused.isoformat()})
    assert recovered.body["recovered"] == 5
    await here.until_states(shop, DELIVERED=6)
    assert len(here.receiver.at("/shop")) == 7, "what was delivered is not recovered"


async def test_recovery_begins_at_its_moment(here: Scene) -> None:
    await here.register("/other")
    await here.place.open(here.merchant, 2)
    here.hand.move(timedelta(seconds=1))
    since = here.hand()
    await here.place.open(here.merchant, 3)
    await here.look()
    shop = await here.register("/shop")

    nothing = await here.ask(shop, "POST", "/recover", {"since": (since + A_MOMENT).isoformat()})
    assert (nothing.status, nothing.body["recovered"]) == (202, 0)
    some = await here.ask(shop, "POST", "/recover", {"since": since.isoformat()})
    assert some.body["recovered"] == 3
    everything = await here.ask(shop, "POST", "/recover", {"since": "2020-01-01T00:00:00Z"})
    assert 2 <= everything.body["recovered"] <= 5
    await here.until_states(shop, DELIVERED=5)
    assert here.receiver.ids("/shop") == here.receiver.ids("/other")


async def test_a_recovery_of_many_comes_in_parts_of_which_none_is_left_out(here: Scene) -> None:
    await here.place.open(here.merchant, 7)
    await here.look()
    stand = await here.register("/shop", behaviour=says(500))
    async with here.place.database.read() as connection:
        endpoint = await endpoints.get(connection, here.merchant.id, stand.id)
    assert endpoint is not None
    parts: list[int] = []
    last: str | None = None
    while last is not None or not parts:
        async with here.place.database.begin() as tx:
            number, last = await resends.recover(tx, endpoint, since=here.hand(), after=last, most=3, now=here.hand())
        parts.append(number)

    assert parts == [3, 3, 1]
    await here.until_states(stand, PENDING=7)


async def test_a_deleted_endpoint_is_told_nothing_more_and_its_secrets_are_gone(here: Scene) -> None:
    shop, other = await here.register("/shop", behaviour=says(500)), await here.register("/other")
    await here.ask(shop, "POST", "/rotate-secret")
    await here.place.open(here.merchant, 3)
    await here.until_attempts(shop, 3)
    assert (await here.ask(shop, "DELETE")).status == 200

    here.receiver.behave("/shop", good)
    here.hand.move(timedelta(hours=1))
    await here.place.open(here.merchant, 2)
    await here.until_states(other, DELIVERED=5)
    await here.look()
    assert len(here.receiver.at("/shop")) == 3
    assert {(await here.ask(shop, "GET", path)).status for path in ("", "/deliveries")} == {404}
    assert (await here.ask(shop, "PATCH", body={"isActive": True})).status == 404
    assert (await here.ask(shop, "POST", "/recover", {"since": "2020-01-01T00:00:00Z"})).status == 404
    [row] = await here.place.rows("SELECT secret, next_secret FROM webhook_endpoints WHERE id = $1", shop.id)
    assert (row["secret"], row["next_secret"]) == (b"", None)


async def test_an_endpoint_hears_only_what_it_subscribes_to_from_then_on(here: Scene) -> None:
    shop, everything = await here.register("/shop", [PENDING]), await here.register("/all", tuple(Event))
    opened = await here.place.open(here.merchant, 4)
    await here.until_states(shop, DELIVERED=4)
    await here.place.take_back(opened[:2])
    await here.until_states(everything, DELIVERED=6)
    assert {got.event for got in here.receiver.at("/shop")} == {"payment.pending"}

    await here.change(shop, events=[CANCELLED])
    await here.place.take_back(opened[2:])
    await here.place.open(here.merchant, 3)
    await here.until_states(everything, DELIVERED=11)
    await here.until_states(shop, DELIVERED=6)
    assert [got.event for got in here.receiver.at("/shop")[4:]] == ["payment.cancelled"] * 2

    recovered = await here.ask(shop, "POST", "/recover", {"since": "2020-01-01T00:00:00Z"})
    assert recovered.body["recovered"] == 2, "of what was told while it did not listen, what it listens to now"
    await here.until_states(shop, DELIVERED=8)
    assert sum(got.event == "payment.pending" for got in here.receiver.at("/shop")) == 4


async def test_a_changed_address_counts_for_what_waits(here: Scene) -> None:
    shop = await here.register("/old", behaviour=says(500))
    await here.place.open(here.merchant, 2)
    await here.until_attempts(shop, 2)

    await here.change(shop, url=here.receiver.url("/new"))
    here.hand.move(timedelta(hours=1))
    await here.until_states(shop, DELIVERED=2)

    assert len(here.receiver.at("/old")) == 2
    assert here.receiver.ids("/new") == here.receiver.ids("/old")
    assert (await here.shown(shop))["url"] == here.receiver.url("/new")


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


async def _told(here: Scene, stand: Stand) -> Got:
    """What the endpoint gets of a new event."""
    before = len(here.receiver.at("/shop"))
    await here.place.open(here.merchant)
    await here.until_attempts(stand, before + 1)
    return here.receiver.at("/shop")[-1]


async def _rotate(here: Scene, stand: Stand) -> str:
    answer = await here.ask(stand, "POST", "/rotate-secret")
    assert answer.status == 200, answer.body
    assert datetime.fromisoformat(answer.body["endpoint"]["rotationEndsAt"]) == here.hand() + timedelta(hours=24)
    return str(answer.body["endpoint"]["secret"])


async def test_while_a_secret_is_changed_both_sign_for_24_hours_and_then_the_new_one_alone(here: Scene) -> None:
    stand = await here.register("/shop")
    _assert_signed_with(await _told(here, stand), stand.secret)

    second = await _rotate(here, stand)
    began = here.hand()
    _assert_signed_with(await _told(here, stand), stand.secret, second)
    refused = await here.ask(stand, "POST", "/rotate-secret")
    assert (refused.status, refused.code) == (409, "rotation_under_way")

    here.hand.move_to(began + timedelta(hours=24) - A_MOMENT)
    _assert_signed_with(await _told(here, stand), stand.secret, second)
    here.hand.move_to(began + timedelta(hours=24))
    _assert_signed_with(await _told(here, stand), second)
    assert "rotationEndsAt" not in await here.shown(stand)

    third = await _rotate(here, stand)
    _assert_signed_with(await _told(here, stand), second, third)
    assert (await here.ask(stand, "POST", "/rotate-secret/finish")).status == 200
    _assert_signed_with(await _told(here, stand), third)
    refused = await here.ask(stand, "POST", "/rotate-secret/finish")
    assert (refused.status, refused.code) == (409, "no_rotation")
    assert len({stand.secret, second, third}) == 3


async def test_what_waits_is_signed_with_the_secret_of_the_time_when_it_is_sent(here: Scene) -> None:
    stand = await here.register("/shop", behaviour=says(500))
    _assert_signed_with(await _told(here, stand), stand.secret)
    second = await _rotate(here, stand)
    await here.ask(stand, "POST", "/rotate-secret/finish")

    here.hand.move(timedelta(minutes=1))
    await here.until_attempts(stand, 2)

    first, again = here.receiver.at("/shop")
    _assert_signed_with(again, second)
    assert (again.id, again.body) == (first.id, first.body)

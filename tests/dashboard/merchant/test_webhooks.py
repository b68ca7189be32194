"""/dashboard/webhooks: endpoints, their secrets, how they fare, and who may change them."""

import re
import secrets
from zoneinfo import ZoneInfo

import pytest

from malipo.db import Database
from malipo.merchants.roles import Role
from tests.conftest import Running
from tests.dashboard.merchant.webhook_pages import GOOD, PATH, URL, WebhookPages, numbers, secret_in
from tests.dashboard.merchant.webhook_pages import desk as desk
from tests.dashboard.merchant.webhook_pages import surfer as surfer
from tests.dashboard.page_client import add_person, surfing


async def test_a_new_endpoint_shows_its_secret_this_once(desk: WebhookPages) -> None:
    made = await desk.surfer.post(PATH, GOOD)

    assert made.status == 201
    secret_in(made)
    (endpoint,) = await desk.endpoints()
    assert (endpoint.url, list(endpoint.events)) == (URL, ["payment.pending", "payout.failed"])
    for path in (PATH, f"{PATH}/{endpoint.id}", f"{PATH}/{endpoint.id}/edit"):
        seen = await desk.surfer.get(path)
        assert URL in seen.text
        assert "whsec_" not in seen.text


async def test_the_page_says_where_we_are(desk: WebhookPages) -> None:
    seen = await desk.surfer.get(PATH)
    assert desk.surfer.url in seen.words
    assert 'href="/docs"' in seen.text
    behind_tls = await desk.surfer.get(PATH, headers={"X-Forwarded-Proto": "https"})
    assert desk.surfer.url.replace("http:", "https:") in behind_tls.words


@pytest.mark.parametrize(
    ("url", "events", "said"),
    [
        ("", ["payment.failed"], "Please fill this in."),
        ("http://41.59.1.20/hook", ["payment.failed"], "url must start with https://."),
        ("https://10.0.0.7/hook", ["payment.failed"], "it is private"),
        ("https://169.254.169.254/latest", ["payment.failed"], "it is cloud metadata"),
        (URL, [], "Choose at least one event."),
        (URL, ["payment.imagined"], "Choose at least one event."),
    ],
)
async def test_a_mistake_is_said_and_nothing_is_added(
    desk: WebhookPages, url: str, events: list[str], said: str
) -> None:
    seen = await desk.surfer.post(PATH, [("url", url), *(("events", each) for each in events)])

    assert seen.status == 400
    assert said in seen.words
    assert f'value="{url}"' in seen.text
    assert await desk.endpoints() == []


async def test_an_endpoint_is_changed(desk: WebhookPages) -> None:
    endpoint = await desk.add()
    path = f"{PATH}/{endpoint.id}"
    form = await desk.surfer.get(f"{path}/edit")
    assert 'value="payout.failed" checked' in form.text
    assert 'value="payment.failed" checked' not in form.text

    assert (await desk.surfer.post(f"{path}/edit", [("url", "http://nowhere"), ("events", "x")])).status == 400
    changed = await desk.surfer.post(f"{path}/edit", [("url", f"{URL}/2"), ("events", "payment.failed")])

    assert (changed.status, changed.to) == (303, path)
    (after,) = await desk.endpoints()
    assert (after.url, list(after.events), after.is_active) == (f"{URL}/2", ["payment.failed"], True)
    assert after.secret == endpoint.secret


async def test_whoever_resumes_is_asked_whether_they_want_what_was_missed(desk: WebhookPages) -> None:
    endpoint = await desk.add()
    path = f"{PATH}/{endpoint.id}"

    assert (await desk.surfer.post(f"{path}/pause")).to == path
    (paused,) = await desk.endpoints()
    assert not paused.is_active
    assert paused.disabled_at is not None
    seen = await desk.surfer.get(path)
    assert "Paused" in seen.words
    assert "Send a test" not in seen.words

    resumed = await desk.surfer.post(f"{path}/resume")

    assert (await desk.endpoints())[0].is_active
    local = paused.disabled_at.astimezone(ZoneInfo("Africa/Dar_es_Salaam"))
    assert resumed.to == f"{path}/recover?since={local:%Y-%m-%dT%H:%M}"
    assert f'value="{local:%Y-%m-%dT%H:%M}"' in (await desk.surfer.get(resumed.to)).text


async def test_an_endpoint_that_we_switched_off_says_why_and_what_to_do(desk: WebhookPages) -> None:
    endpoint = await desk.add()
    event_id = await desk.deliver(endpoint)
    await desk.answer(endpoint, event_id, status=410)

    seen = await desk.surfer.get(f"{PATH}/{endpoint.id}")

    assert "Disabled" in seen.words
    assert "The receiver answered 410 Gone." in seen.words
    assert "Fix your server first" in seen.words
    assert "Disabled" in (await desk.surfer.get(PATH)).words


async def test_an_endpoint_that_fails_says_since_when(desk: WebhookPages) -> None:
    endpoint = await desk.add()
    assert "Failing" not in (await desk.surfer.get(PATH)).words
    await desk.answer(endpoint, await desk.deliver(endpoint), status=500)

    assert "Failing" in (await desk.surfer.get(PATH)).words
    assert "Failing since" in (await desk.surfer.get(f"{PATH}/{endpoint.id}")).words


async def test_a_secret_is_changed_with_both_good_until_it_is_finished(desk: WebhookPages) -> None:
    endpoint = await desk.add()
    path = f"{PATH}/{endpoint.id}"
    assert (await desk.surfer.get(f"{path}/rotate")).status == 200

    begun = await desk.surfer.post(f"{path}/rotate")

    secret_in(begun)
    assert "for 24 hours every message is signed with both" in begun.words
    (rotating,) = await desk.endpoints()
    assert rotating.secret == endpoint.secret
    assert rotating.next_secret is not None
    seen = await desk.surfer.get(path)
    assert "The secret is being changed." in seen.words
    assert "whsec_" not in seen.text
    assert (await desk.surfer.post(f"{path}/rotate")).status == 400
    assert (await desk.surfer.get(f"{path}/rotate")).to == path

    assert (await desk.surfer.get(f"{path}/finish")).status == 200
    assert (await desk.endpoints())[0].next_secret is not None
    assert (await desk.surfer.post(f"{path}/finish")).to == path
    (finished,) = await desk.endpoints()
    assert (finished.secret, finished.next_secret) == (rotating.next_secret, None)


async def test_deleting_asks_first(desk: WebhookPages) -> None:
    endpoint = await desk.add()
    path = f"{PATH}/{endpoint.id}"

    assert (await desk.surfer.get(f"{path}/delete")).status == 200
    assert len(await desk.endpoints()) == 1

    assert (await desk.surfer.post(f"{path}/delete")).to == PATH
    assert await desk.endpoints() == []
    assert (await desk.surfer.get(path)).status == 404


async def test_a_viewer_sees_everything_and_has_no_buttons(
    desk: WebhookPages, database: Database, running: Running
) -> None:
    endpoint = await desk.add()
    event_id = await desk.deliver(endpoint)
    await desk.surfer.post(f"{PATH}/{endpoint.id}/rotate")
    person = await add_person(database, desk.merchant.id, f"viewer+{secrets.token_hex(6)}@example.com", Role.VIEWER)
    async with surfing(running.url, seen_from=f"10.42.1.{next(numbers)}") as viewer:
        await viewer.log_in(person.email)
        for path in (PATH, f"{PATH}/{endpoint.id}", f"{PATH}/{endpoint.id}/deliveries/{event_id}"):
            seen = await viewer.get(path)
            assert seen.status == 200
            forms = re.findall(r'action="([^"]+)"', seen.text)
            assert set(forms) <= {"/dashboard/language", "/dashboard/logout"}
            assert not re.search(r"/(new|edit|rotate|finish|delete|recover)\"", seen.text)

"""/dashboard/webhooks: endpoints, their secrets, how they fare, what was sent there, and sending again."""

import asyncio
import itertools
import re
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from malipo import clock, ids
from malipo.db import Database
from malipo.merchants.people import Role
from malipo.payments.transaction import Type
from malipo.service import Service
from malipo.webhooks.delivery import Attempt, State
from malipo.webhooks.endpoint import Endpoint
from malipo.webhooks.fan_out import fan_out
from malipo.webhooks.store import deliveries, endpoints, history
from tests.conftest import Merchant, Running, make_merchant
from tests.dashboard.surf import Seen, Surfer, add_person, surfing
from tests.journeys.crowd import order

PATH = "/dashboard/webhooks"
URL = "https://41.59.1.20/hook"
GOOD = [("url", URL), ("events", "payment.pending"), ("events", "payout.failed")]
_SECRET = re.compile(r"whsec_[A-Za-z0-9+/]{43}=")
_ROW = re.compile(r"/deliveries/(evt_\w+)\"")
_numbers = itertools.count(1)


@dataclass
class Desk:
    """Somebody in front of a merchant's endpoints."""

    surfer: Surfer
    service: Service
    merchant: Merchant

    async def add(self, fields: Sequence[tuple[str, str]] = GOOD) -> Endpoint:
        assert (await self.surfer.post(PATH, fields)).status == 201
        return (await self.endpoints())[-1]

    async def endpoints(self) -> list[Endpoint]:
        return await self.service.read(lambda connection: endpoints.find_all(connection, self.merchant.id))

    async def told(self, endpoint: Endpoint) -> list[history.Told]:
        return await self.service.read(
            lambda connection: history.page(connection, endpoint.id, state=None, before=None, limit=100)
        )

    async def deliver(self, endpoint: Endpoint, at: datetime | None = None) -> str:
        """A delivery that waits."""
        event_id = ids.mint("evt_", at or clock.now())
        new = deliveries.New(endpoint.id, event_id, self.merchant.id, "payment.pending", claim="clm_1")
        async with self.service.database.begin() as tx:
            await deliveries.insert(tx, [new], lease_seconds=60, now=clock.now())
        return event_id

    async def answer(
        self,
        endpoint: Endpoint,
        event_id: str,
        *,
        status: int | None = 200,
        body: bytes = b"",
        headers: Sequence[tuple[str, str]] = (),
        error: str | None = None,
    ) -> None:
        """What a worker would write down after a try."""
        at = clock.now()
        key, attempt_id = (endpoint.id, event_id), ids.mint("att_", at)
        await self.service.record_attempt(
            Attempt(key, "clm_1", attempt_id, at, 1234, status, headers, body, error=error)
        )


@pytest.fixture
async def surfer(running: Running) -> AsyncIterator[Surfer]:
    async with surfing(running.url, seen_from=f"10.42.0.{next(_numbers)}") as surfer:
        yield surfer


@pytest.fixture
async def desk(surfer: Surfer, database: Database, service: Service) -> Desk:
    merchant = await make_merchant(database)
    person = await add_person(database, merchant.id, f"staff+{secrets.token_hex(6)}@example.com", Role.STAFF)
    assert (await surfer.log_in(person.email)).status == 303
    return Desk(surfer, service, merchant)


def secret_in(seen: Seen) -> str:
    found = set(_SECRET.findall(seen.text.replace("&#43;", "+").replace("&#47;", "/")))
    assert len(found) == 1, seen.words
    return str(found.pop())


# Endpoints


async def test_a_new_endpoint_shows_its_secret_this_once(desk: Desk) -> None:
    made = await desk.surfer.post(PATH, GOOD)

    assert made.status == 201
    secret_in(made)
    (endpoint,) = await desk.endpoints()
    assert (endpoint.url, list(endpoint.events)) == (URL, ["payment.pending", "payout.failed"])
    for path in (PATH, f"{PATH}/{endpoint.id}", f"{PATH}/{endpoint.id}/edit"):
        seen = await desk.surfer.get(path)
        assert URL in seen.text
        assert "whsec_" not in seen.text


async def test_the_page_says_where_we_are(desk: Desk) -> None:
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
async def test_a_mistake_is_said_and_nothing_is_added(desk: Desk, url: str, events: list[str], said: str) -> None:
    seen = await desk.surfer.post(PATH, [("url", url), *(("events", each) for each in events)])

    assert seen.status == 400
    assert said in seen.words
    assert f'value="{url}"' in seen.text
    assert await desk.endpoints() == []


async def test_an_endpoint_is_changed(desk: Desk) -> None:
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


async def test_whoever_resumes_is_asked_whether_they_want_what_was_missed(desk: Desk) -> None:
    endpoint = await desk.add()
    path = f"{PATH}/{endpoint.id}"

    assert (await desk.surfer.post(f"{path}/pause")).to == path
    (paused,) = await desk.endpoints()
    assert not paused.is_active
    assert paused.switched_off_at is not None
    seen = await desk.surfer.get(path)
    assert "Paused" in seen.words
    assert "Send a test" not in seen.words

    resumed = await desk.surfer.post(f"{path}/resume")

    assert (await desk.endpoints())[0].is_active
    local = paused.switched_off_at.astimezone(ZoneInfo("Africa/Dar_es_Salaam"))
    assert resumed.to == f"{path}/recover?since={local:%Y-%m-%dT%H:%M}"
    assert f'value="{local:%Y-%m-%dT%H:%M}"' in (await desk.surfer.get(resumed.to)).text


async def test_an_endpoint_that_we_switched_off_says_why_and_what_to_do(desk: Desk) -> None:
    endpoint = await desk.add()
    event_id = await desk.deliver(endpoint)
    await desk.answer(endpoint, event_id, status=410)

    seen = await desk.surfer.get(f"{PATH}/{endpoint.id}")

    assert "Switched off" in seen.words
    assert "The receiver answered 410 Gone." in seen.words
    assert "Mend your server first" in seen.words
    assert "Switched off" in (await desk.surfer.get(PATH)).words


async def test_an_endpoint_that_fails_says_since_when(desk: Desk) -> None:
    endpoint = await desk.add()
    assert "Failing" not in (await desk.surfer.get(PATH)).words
    await desk.answer(endpoint, await desk.deliver(endpoint), status=500)

    assert "Failing" in (await desk.surfer.get(PATH)).words
    assert "Failing since" in (await desk.surfer.get(f"{PATH}/{endpoint.id}")).words


async def test_a_secret_is_changed_with_both_good_until_it_is_finished(desk: Desk) -> None:
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


async def test_deleting_asks_first(desk: Desk) -> None:
    endpoint = await desk.add()
    path = f"{PATH}/{endpoint.id}"

    assert (await desk.surfer.get(f"{path}/delete")).status == 200
    assert len(await desk.endpoints()) == 1

    assert (await desk.surfer.post(f"{path}/delete")).to == PATH
    assert await desk.endpoints() == []
    assert (await desk.surfer.get(path)).status == 404


# Deliveries


async def test_a_test_shows_what_the_receiver_answered(desk: Desk) -> None:
    endpoint = await desk.add()

    async def receive() -> None:
        while not (waiting := await desk.told(endpoint)):  # noqa: ASYNC110 - the other side is another process.
            await asyncio.sleep(0.02)
        await desk.answer(endpoint, waiting[0].event_id, status=202, body=b"thank you")

    sent, _ = await asyncio.gather(desk.surfer.post(f"{PATH}/{endpoint.id}/test"), receive())

    assert sent.status == 303
    shown = await desk.surfer.get(sent.to)
    assert "HTTP 202" in shown.words
    assert "thank you" in shown.words
    assert "Your server has taken it." in shown.words


async def test_a_paused_endpoint_sends_nothing_and_says_so(desk: Desk) -> None:
    endpoint = await desk.add()
    event_id = await desk.deliver(endpoint)
    path = f"{PATH}/{endpoint.id}"
    await desk.surfer.post(f"{path}/pause")

    for act, fields in (
        ("test", {}),
        (f"deliveries/{event_id}/redeliver", {}),
        ("recover", {"since": "2026-01-01T00:00"}),
    ):
        refused = await desk.surfer.post(f"{path}/{act}", fields)
        assert refused.status == 409, act
        assert "The endpoint is paused. Resume it first." in refused.words


async def test_every_try_is_shown_with_all_that_was_answered_and_only_as_text(desk: Desk) -> None:
    endpoint = await desk.add()
    event_id = await desk.deliver(endpoint)
    await desk.answer(endpoint, event_id, status=None, error="The connection was refused.")
    body = b"<script>alert(1)</script>\xff"
    await desk.answer(endpoint, event_id, status=503, body=body, headers=[("server", "<i>nginx"), ("x-a", "1")])

    seen = await desk.surfer.get(f"{PATH}/{endpoint.id}/deliveries/{event_id}")

    assert "2 tries" in seen.words
    assert "The connection was refused." in seen.words
    assert "HTTP 503" in seen.words
    assert seen.words.count("1,234 ms") == 2
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\ufffd" in seen.text
    assert "server: &lt;i&gt;nginx" in seen.text
    assert "<script>alert" not in seen.text
    assert seen.words.index("HTTP 503") < seen.words.index("The connection was refused.")


async def test_deliveries_are_listed_by_key_and_by_state(desk: Desk) -> None:
    endpoint = await desk.add()
    began = clock.now() - timedelta(minutes=5)
    made = [await desk.deliver(endpoint, began + timedelta(seconds=n)) for n in range(30)][::-1]
    await desk.answer(endpoint, made[3], status=200)
    path = f"{PATH}/{endpoint.id}"

    first = await desk.surfer.get(path)
    older = re.search(r'rel="next" href="([^"]+)"', first.text)
    assert older is not None
    second = await desk.surfer.get(older[1].replace("&amp;", "&"))

    assert (_ROW.findall(first.text), _ROW.findall(second.text)) == (made[:25], made[25:])
    assert 'rel="next"' not in second.text
    assert _ROW.findall((await desk.surfer.get(f"{path}?state=DELIVERED")).text) == [made[3]]
    waiting = await desk.surfer.get(f"{path}?state=PENDING")
    assert made[3] not in _ROW.findall(waiting.text)
    beyond = re.search(r'rel="next" href="([^"]+)"', waiting.text)
    assert beyond is not None
    assert "state=PENDING" in beyond[1]
    assert "There is no delivery in this state." in (await desk.surfer.get(f"{path}?state=EXHAUSTED")).words


@pytest.mark.parametrize("query", ["?state=%00", "?before=%00", "?before=" + "x" * 5000, "?state=NONSENSE"])
async def test_nonsense_in_the_address_is_as_good_as_nothing(desk: Desk, query: str) -> None:
    endpoint = await desk.add()
    event_id = await desk.deliver(endpoint)

    assert _ROW.findall((await desk.surfer.get(f"{PATH}/{endpoint.id}{query}")).text) == [event_id]


async def test_a_delivery_is_sent_again_from_the_first_try(desk: Desk) -> None:
    endpoint = await desk.add()
    event_id = await desk.deliver(endpoint)
    await desk.answer(endpoint, event_id, status=200)
    path = f"{PATH}/{endpoint.id}/deliveries/{event_id}"

    assert (await desk.surfer.post(f"{path}/redeliver")).to == path

    assert [each.state for each in await desk.told(endpoint)] == [State.PENDING]


async def test_what_was_missed_since_a_time_of_dar_es_salaam_is_sent(desk: Desk) -> None:
    endpoint = await desk.add()
    path = f"{PATH}/{endpoint.id}"
    await desk.surfer.post(f"{path}/pause")
    await desk.service.initiate(order(desk.merchant.id, Type.COLLECTION, 1000))
    async with desk.service.database.begin() as tx:
        await fan_out(
            tx, most=1000, claim_id="clm_1", lease_seconds=60, may_take=lambda endpoint_id: False, now=clock.now()
        )
    await desk.surfer.post(f"{path}/resume")
    assert await desk.told(endpoint) == []
    here = clock.now().astimezone(ZoneInfo("Africa/Dar_es_Salaam"))

    missed = await desk.surfer.post(f"{path}/recover", {"since": f"{here - timedelta(minutes=2):%Y-%m-%dT%H:%M}"})

    assert missed.to == path
    assert [each.event for each in await desk.told(endpoint)] == ["payment.pending"]


@pytest.mark.parametrize("since", ["", "yesterday", "2999-01-01T00:00", "0001-01-01T00:00", "2026-01-01T00:00Z"])
async def test_a_time_that_cannot_be_is_asked_for_again(desk: Desk, since: str) -> None:
    endpoint = await desk.add()

    seen = await desk.surfer.post(f"{PATH}/{endpoint.id}/recover", {"since": since})

    assert seen.status == 400
    assert 'id="field-since-wrong"' in seen.text


async def test_a_viewer_sees_everything_and_has_no_buttons(desk: Desk, database: Database, running: Running) -> None:
    endpoint = await desk.add()
    event_id = await desk.deliver(endpoint)
    await desk.surfer.post(f"{PATH}/{endpoint.id}/rotate")
    person = await add_person(database, desk.merchant.id, f"viewer+{secrets.token_hex(6)}@example.com", Role.VIEWER)
    async with surfing(running.url, seen_from=f"10.42.1.{next(_numbers)}") as viewer:
        await viewer.log_in(person.email)
        for path in (PATH, f"{PATH}/{endpoint.id}", f"{PATH}/{endpoint.id}/deliveries/{event_id}"):
            seen = await viewer.get(path)
            assert seen.status == 200
            forms = re.findall(r'action="([^"]+)"', seen.text)
            assert set(forms) <= {"/dashboard/language", "/dashboard/logout"}
            assert not re.search(r"/(new|edit|rotate|finish|delete|recover)\"", seen.text)

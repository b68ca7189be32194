"""The API, the merchants' pages and the operators' pages: what holds for the connections of one holds for all."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from malipo import clock, ids
from malipo.api.http import timeouts
from malipo.app.assemble import Service
from malipo.dashboard import cookies
from malipo.db import Database
from malipo.http_server.app import WebApplication
from malipo.merchants import manage_people
from malipo.merchants.roles import Role
from malipo.merchants.store import sessions
from tests.api.conftest import place as place_payment
from tests.api.http.applications import get
from tests.api.http.connections import Place, serving, until
from tests.api.raw_http import request
from tests.conftest import NOBODY, Merchant

FORM = (b"content-type: application/x-www-form-urlencoded", b"origin: http://malipo")


@pytest.fixture
async def sites(service: Service) -> AsyncIterator[Place]:
    async with serving(WebApplication(service, most_pages=3)) as place:
        yield place


@pytest.mark.parametrize("path", ["/dashboard/login", "/operator/login", "/merchant/auth/login"])
@pytest.mark.parametrize("arrived", [0, 5])
async def test_a_body_that_never_comes_is_408_on_every_site(
    sites: Place, path: str, arrived: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "BODY_SECONDS", 0.1)
    line = await sites.call()
    await line.say(request("POST", path, b"email=a&password=b", headers=FORM)[: arrived - 18])

    answer = await line.read_answer()
    assert (answer.status, answer.headers["connection"]) == (408, "close")
    assert await line.read_rest() == b""


async def test_slow_forms_leave_room_for_pages(sites: Place) -> None:
    for _ in range(3):
        await (await sites.call()).say(request("POST", "/dashboard/login", b"x" * 100, headers=FORM)[:-1])
    line = await sites.call()
    await line.say(get("/operator/login"))
    assert (await line.read_answer()).status == 200


async def test_forms_that_are_too_large_and_slow_leave_room_for_the_api(sites: Place) -> None:
    slow = [await sites.call() for _ in range(3)]
    for each in slow:
        await each.say(request("POST", "/dashboard/login", b"x" * 100_000, headers=FORM)[:-99_900])
    line = await sites.call()
    await line.say(get("/operator/login"))
    refused = await line.read_answer()
    assert (refused.status, refused.headers["retry-after"]) == (503, "5")

    await line.say(get("/healthz"))
    assert (await line.read_answer()).status == 200
    for each in slow:
        await each.hang_up()
    await line.say(get("/operator/login"))
    assert (await line.read_answer()).status == 200


@pytest.mark.parametrize("behind", [b"", get("/healthz")], ids=["alone", "with a request behind it"])
async def test_a_long_poll_ends_when_its_caller_hangs_up(
    sites: Place, service: Service, merchant: Merchant, behind: bytes
) -> None:
    transaction = await place_payment(service, merchant, at=clock.now())
    for path, poll in (
        (f"/v1/payments/{transaction.id}", service.long_polls.statuses),
        ("/v1/events?after=latest", service.long_polls.feeds),
    ):
        line = await sites.call()
        asked = request("GET", f"{path}{'&' if '?' in path else '?'}wait=30", key=merchant.key)
        await line.say(asked + behind)
        await until(lambda: poll.waiting == 1)  # noqa: B023
        await line.hang_up()
        await until(lambda: poll.waiting == 0)  # noqa: B023


async def logged_in(service: Service, database: Database, merchant: Merchant) -> bytes:
    """The cookie of an owner's browser."""
    now = clock.now()
    session_id = ids.mint("ses_", now)
    async with database.begin() as tx:
        email = f"{merchant.id}@example.com"
        person = await manage_people.add_person(
            tx, merchant.id, email=email, name="", role=Role.OWNER, actor=NOBODY, now=now
        )
        ends = now + timedelta(days=1)
        await sessions.insert(
            tx, session_id, person.id, now=now, confirmed_at=now, expires_at=ends, address="", user_agent="test"
        )
    return f"cookie: {cookies.SESSION.name}={service.accounts.cookies.make(session_id)}".encode()


async def test_a_live_page_ends_when_its_reader_hangs_up(
    sites: Place, service: Service, merchant: Merchant, database: Database
) -> None:
    cookie = await logged_in(service, database, merchant)
    line = await sites.call()
    await line.say(get("/dashboard/live", cookie))
    status, _ = await line.read_head()
    assert status == 200
    await until(lambda: service.long_polls.lists.waiting == 1)
    await line.hang_up()
    await until(lambda: service.long_polls.lists.waiting == 0)

"""/dashboard/links: made with two fields, shared, watched and cancelled."""

import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import unquote

import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.db import Database
from malipo.links.link import Link, LinkStatus
from malipo.links.store import links
from malipo.merchants.public_profile import Contact, PublicProfile
from malipo.merchants.roles import Role
from malipo.merchants.store import public_profiles
from malipo.payments.transaction import Status
from tests.conftest import Merchant, Running
from tests.dashboard.page_client import Seen, Surfer, add_person, surfing
from tests.links.link_steps import ASHA, JUMA, LinkSteps

PATH = "/dashboard/links"


@dataclass
class LinkPages:
    surfer: Surfer
    steps: LinkSteps

    async def make(self, **fields: str) -> Seen:
        form = (await self.surfer.get(PATH)).text
        [key] = re.findall(r'name="key" value="([^"]+)"', form)
        typed = {"key": key, "amount": "25,000", "description": "Order 1042"} | fields
        return await self.surfer.post(PATH, typed)

    async def made(self, **fields: str) -> Link:
        seen = await self.make(**fields)
        assert seen.status == 303, seen.words
        return await self.link(seen.to.rpartition("/")[2])

    async def link(self, link_id: str) -> Link:
        async with self.steps.database.read() as connection:
            found = await links.get(connection, self.steps.merchant_id, link_id)
        assert found is not None
        return found

    async def all(self) -> list[Link]:
        async with self.steps.database.read() as connection:
            return (await links.find_page(connection, self.steps.merchant_id, page=1, limit=100))[1]


@pytest.fixture
async def desk(running: Running, database: Database, service: Service, merchant: Merchant) -> AsyncIterator[LinkPages]:
    email = f"{secrets.token_hex(6)}@example.com"
    await add_person(database, merchant.id, email, Role.STAFF)
    async with surfing(running.url) as surfer:
        assert (await surfer.log_in(email)).status == 303
        yield LinkPages(surfer, LinkSteps(service, merchant.id))


async def test_a_link_is_made_with_an_amount_and_what_it_is_for_and_shared(desk: LinkPages) -> None:
    link = await desk.made()

    assert (link.amount, link.description, link.is_reusable, link.expires_at) == (25_000, "Order 1042", False, None)
    seen = await desk.surfer.get(f"{PATH}/{link.id}")
    url = f"{desk.surfer.url}/pay/{link.code}"
    assert url in seen.words
    [message] = re.findall(r'href="https://wa\.me/\?text=([^"]+)"', seen.text)
    assert unquote(message) == f"Duka: Order 1042, TZS 25,000. Pay here: {url}"
    assert f'href="{url}/poster"' in seen.text
    assert "Nobody has tried to pay yet" in seen.words
    listed = await desk.surfer.get(PATH)
    assert f'href="{PATH}/{link.id}">Order 1042' in listed.text
    assert "Can be paid" in listed.words


async def test_pressing_twice_makes_one_link_and_going_back_and_changing_it_another(desk: LinkPages) -> None:
    first = await desk.make(key="dashboard-1")
    second = await desk.make(key="dashboard-1")
    changed = await desk.make(key="dashboard-1", amount="30,000")

    assert (first.status, second.status, second.to) == (303, 303, first.to)
    assert changed.status == 409
    assert 'value="30,000"' in changed.text
    assert len(await desk.all()) == 1


async def test_all_that_a_link_can_say(desk: LinkPages) -> None:
    day = (clock.now() + timedelta(days=3)).astimezone(clock.ZONE).date()
    link = await desk.made(
        amount="",
        reusable="yes",
        maxPayments="20",
        lastDay=f"{day}",
        orderReference="R-1",
        returnUrl="https://duka.example/done",
    )

    assert (link.amount, link.is_reusable, link.max_payments) == (None, True, 20)
    assert (link.order_reference, link.return_url) == ("R-1", "https://duka.example/done")
    assert link.expires_at is not None
    assert f"{link.expires_at.astimezone(clock.ZONE):%Y-%m-%d %H:%M}" == f"{day} 23:59"
    assert "The customer types the amount" in (await desk.surfer.get(f"{PATH}/{link.id}")).words


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"description": ""}, "Please fill this in."),
        ({"amount": "a lot"}, "Type a whole number of shillings"),
        ({"amount": "499"}, "The least is TZS 500."),
        ({"reusable": "yes", "maxPayments": "many"}, "Type a whole number, such as 20."),
        ({"lastDay": "2020-01-01"}, "Choose a day that is not over."),
        ({"lastDay": "soon"}, "This is not a date"),
        ({"returnUrl": "http://duka.example"}, "Type an address that begins with https://."),
        ({"orderReference": "x" * 65}, "1 to 64 characters that can be printed."),
    ],
)
async def test_a_mistake_is_said_at_its_field_and_no_link_is_made(
    desk: LinkPages, fields: dict[str, str], said: str
) -> None:
    seen = await desk.make(**fields)

    assert seen.status == 400
    assert said in seen.words
    assert await desk.all() == []


async def test_what_came_is_shown_with_every_attempt(desk: LinkPages) -> None:
    link = await desk.made(reusable="yes")
    paid = await desk.steps.paid(link, ASHA, name="Asha")
    failed = await desk.steps.sent(link, JUMA)
    await desk.steps.answer(failed, Status.FAILED)

    seen = await desk.surfer.get(f"{PATH}/{link.id}")

    for payment in (paid, failed):
        assert f'href="/dashboard/transactions/{payment.id}"' in seen.text
    assert "1 payment: + TZS 25,000" in seen.words
    assert "Failed" in seen.words
    listed = await desk.surfer.get(PATH)
    assert "1 payment + TZS 25,000" in listed.words
    transaction = await desk.surfer.get(f"/dashboard/transactions/{paid.id}")
    assert f'href="{PATH}/{link.id}"' in transaction.text


async def test_late_money_is_flagged_with_its_refund_one_click_away(desk: LinkPages) -> None:
    link = await desk.made()
    payment = await desk.steps.sent(link)
    await desk.surfer.post(f"{PATH}/{link.id}/cancel")
    await desk.steps.answer(payment)
    await desk.steps.count()

    seen = await desk.surfer.get(f"{PATH}/{link.id}")

    assert "1 payment came too late. The money is in your wallet: keep it, or give it back." in seen.words
    assert "Came too late: the link was cancelled" in seen.words
    assert f'href="/dashboard/transactions/{payment.id}/refund"' in seen.text
    assert "1 payment came too late" in (await desk.surfer.get(PATH)).words


async def test_cancelling_asks_first_and_says_that_a_customer_is_being_asked(desk: LinkPages) -> None:
    link = await desk.made()
    assert "at this moment" not in (await desk.surfer.get(f"{PATH}/{link.id}/cancel")).words
    await desk.steps.sent(link)

    asked = await desk.surfer.get(f"{PATH}/{link.id}/cancel")
    assert "A customer has an open prompt right now" in asked.words
    assert (await desk.link(link.id)).status is LinkStatus.ACTIVE
    done = await desk.surfer.post(f"{PATH}/{link.id}/cancel")

    assert (done.status, done.to) == (303, f"{PATH}/{link.id}")
    assert (await desk.link(link.id)).status is LinkStatus.CANCELLED
    seen = await desk.surfer.get(f"{PATH}/{link.id}")
    assert "Send by WhatsApp" not in seen.words


async def test_a_link_that_was_paid_meanwhile_is_not_cancelled(desk: LinkPages) -> None:
    link = await desk.made()
    await desk.steps.paid(link)

    seen = await desk.surfer.post(f"{PATH}/{link.id}/cancel")

    assert seen.status == 409
    assert "It can no longer be cancelled: it was paid, or it has expired." in seen.words


async def test_links_are_listed_by_status(desk: LinkPages) -> None:
    active, cancelled = await desk.made(description="Bread"), await desk.made(description="Milk")
    await desk.steps.cancel(cancelled)

    seen = await desk.surfer.get(f"{PATH}?status=CANCELLED")

    assert (cancelled.id in seen.text, active.id in seen.text) == (True, False)
    assert "No link has this status now." in (await desk.surfer.get(f"{PATH}?status=PAID")).words


@pytest.mark.parametrize("role", [Role.OWNER, Role.STAFF])
async def test_who_has_no_contact_is_asked_for_one_where_links_are_made_and_shared(
    desk: LinkPages, database: Database, role: Role
) -> None:
    """It keeps nobody from making a link."""
    email, said = f"{secrets.token_hex(6)}@example.com", "Your customers cannot reach you"
    await add_person(database, desk.steps.merchant_id, email, role)
    link = await desk.made()
    pages = (PATH, f"{PATH}/{link.id}")
    async with surfing(desk.surfer.url) as surfer:
        await surfer.log_in(email)
        for page in pages:
            seen = await surfer.get(page)
            assert said in seen.words
            assert ('href="/dashboard/settings/profile#profile"' in seen.text) == (role is Role.OWNER)
            assert ("An owner of your business adds them" in seen.words) == (role is Role.STAFF)
        for contact in (Contact("+255754000999"), Contact(None, "+255754000999"), Contact(None, None, "a@b.example")):
            async with database.begin() as tx:
                profile = PublicProfile("Duka", "Duka", contact)
                await public_profiles.save(tx, desk.steps.merchant_id, profile, now=clock.now())
            for page in pages:
                assert said not in (await surfer.get(page)).words

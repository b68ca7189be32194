"""A customer pays by a link, on a telephone, with scripts and without: each visit ends with one payment or none, and the
page says the truth."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Route, ViewportSize, expect

from malipo import clock
from tests.browser import axe
from tests.browser.browser_window import Windows
from tests.browser.user_steps import answer, approve, press_twice
from tests.conftest import Client

SMALL: ViewportSize = {"width": 360, "height": 640}


@dataclass
class Visit:
    demo: dict[str, Any]
    shop: Client
    browser: Browser
    has_scripts: bool

    @asynccontextmanager
    async def window(self) -> AsyncIterator[Page]:
        """Another customer's telephone."""
        windows = Windows(self.browser, self.demo["baseUrl"])
        async with windows.open(SMALL, java_script_enabled=self.has_scripts) as page:
            yield page

    async def link(self, **fields: Any) -> dict[str, Any]:
        body = {"amount": 12_500, "description": "Maziwa"} | fields
        made: dict[str, Any] = (await self.shop("POST", "/v1/links", body)).body["link"]
        return made

    async def payments(self, link: dict[str, Any], *, ended: int = 0) -> list[str]:
        """The statuses of its payments, as soon as so many have ended."""
        for _ in range(400):
            found = (await self.shop("GET", "/v1/payments?limit=100&view=full")).body["transactions"]
            statuses = [each["status"] for each in found if each.get("link") == link["id"]]
            if sum(each in ("COMPLETED", "FAILED", "CANCELLED") for each in statuses) >= ended:
                return statuses
            await asyncio.sleep(0.1)
        raise AssertionError(f"they did not end: {statuses}")

    async def flagged_late(self, link: dict[str, Any]) -> dict[str, Any]:
        """The link, as soon as one payment of it is flagged as late."""
        for _ in range(100):
            found: dict[str, Any] = (await self.shop("GET", f"/v1/links/{link['id']}")).body["link"]
            if found.get("latePayments"):
                assert len(found["latePayments"]) == 1
                return found
            await asyncio.sleep(0.1)
        raise AssertionError("its merchant is not told")


@pytest.fixture(params=[True, False], ids=["scripts", "no scripts"])
def visit(demo: dict[str, Any], shop: Client, browser: Browser, request: pytest.FixtureRequest) -> Visit:
    return Visit(demo, shop, browser, request.param)


@pytest.fixture
def scripted(demo: dict[str, Any], shop: Client, browser: Browser) -> Visit:
    return Visit(demo, shop, browser, has_scripts=True)


async def fill(page: Page, link: dict[str, Any], phone: str) -> None:
    await page.goto(link["url"])
    await page.get_by_label("Phone number that pays").fill(phone.replace("+255", "0"))


async def press(page: Page) -> None:
    await page.get_by_role("button", name="Pay TZS 12,500").click()


async def until(page: Page, words: str) -> None:
    """The page comes to say so by itself."""
    await expect(page.get_by_role("heading", name=words)).to_be_visible()


async def test_a_customer_pays_by_a_link(visit: Visit, phone: str) -> None:
    link = await visit.link(returnUrl="https://shop.example/thanks")
    async with visit.window() as page:
        await fill(page, link, phone)
        await press(page)
        await until(page, "Look at your phone")
        await approve(visit.demo, phone)
        await until(page, "Paid. Thank you!")
        await expect(page.get_by_role("link", name="Back to")).to_have_attribute(
            "href", f"https://shop.example/thanks?link={link['id']}"
        )
        assert await visit.payments(link) == ["COMPLETED"]
        await page.reload()
        await until(page, "Paid. Thank you!")


async def test_who_presses_twice_is_asked_once(visit: Visit, phone: str) -> None:
    link = await visit.link(reusable=True)
    async with visit.window() as page:
        await fill(page, link, phone)
        if visit.has_scripts:
            await press_twice(page, "Pay TZS 12,500", url=f"{link['url']}?lang=en")
        else:
            await page.get_by_role("button", name="Pay TZS 12,500").dblclick()
        await until(page, "Look at your phone")
        await approve(visit.demo, phone)
        await until(page, "Paid. Thank you!")
        assert await visit.payments(link) == ["COMPLETED"]


async def test_two_browsers_at_once_make_one_payment(visit: Visit, phone: str) -> None:
    link, second = await visit.link(), phone.replace("100", "600")
    async with visit.window() as page, visit.window() as other:
        await fill(page, link, phone)
        await fill(other, link, second)
        await asyncio.gather(press(page), press(other))
        waiting = [each for each in (page, other) if await _is_asked(each)]
        assert len(waiting) == 1, "one is asked, and the other is told"
        [shown] = [each for each in (page, other) if each is not waiting[0]]
        await expect(shown.get_by_role("alert")).to_contain_text("A payment of this link is under way")
        await approve(visit.demo, phone if waiting[0] is page else second)
        await until(waiting[0], "Paid. Thank you!")
        await shown.goto(link["url"])
        await expect(shown.get_by_text("It was paid already.")).to_be_visible()
        assert await visit.payments(link) == ["COMPLETED"]


async def _is_asked(page: Page) -> bool:
    await page.wait_for_load_state()
    shown = page.get_by_role("heading", name="Look at your phone").or_(page.get_by_role("heading", name="On its way"))
    await expect(shown.or_(page.get_by_role("alert")).first).to_be_visible()
    # Who is asked has a page that loads itself again, perhaps now; who is told has one that stays.
    return not await page.get_by_role("alert").first.is_visible()


async def test_reloading_and_going_back_ask_nobody_again(visit: Visit, phone: str) -> None:
    link = await visit.link()
    async with visit.window() as page:
        await fill(page, link, phone)
        await press(page)
        await until(page, "Look at your phone")
        await page.reload()
        await page.go_back()
        await page.go_forward()
        await until(page, "Look at your phone")
        assert await visit.payments(link) == ["PROCESSING"]
        await approve(visit.demo, phone)
        await until(page, "Paid. Thank you!")
        assert await visit.payments(link) == ["COMPLETED"]


async def test_who_declines_tries_again(visit: Visit, phone: str) -> None:
    link = await visit.link()
    async with visit.window() as page:
        await fill(page, link, phone)
        await press(page)
        await answer(visit.demo, phone, "decline")
        await until(page, "Not paid")
        await expect(page.get_by_text("declined on the phone. Nothing was charged.")).to_be_visible()
        await press(page)
        await approve(visit.demo, phone)
        await until(page, "Paid. Thank you!")
        assert sorted(await visit.payments(link)) == ["COMPLETED", "FAILED"]


async def test_a_page_that_loses_the_network_says_so_and_finds_the_truth(scripted: Visit, phone: str) -> None:
    link = await scripted.link()
    async with scripted.window() as page:
        await fill(page, link, phone)
        await press(page)
        await until(page, "Look at your phone")
        await page.context.set_offline(True)
        await expect(page.get_by_role("alert")).to_contain_text("No connection. The payment goes on")
        await approve(scripted.demo, phone)
        assert await scripted.payments(link, ended=1) == ["COMPLETED"]
        await page.context.set_offline(False)
        await until(page, "Paid. Thank you!")


async def test_a_customer_who_comes_back_to_an_expired_link_is_shown_that(visit: Visit, phone: str) -> None:
    ends = clock.now() + timedelta(seconds=3)
    link = await visit.link(expiresAt=clock.iso(ends))
    async with visit.window() as page:
        await fill(page, link, phone)
        await asyncio.sleep(max((ends - clock.now()).total_seconds() + 0.1, 0))
        await press(page)
        await expect(page.get_by_role("alert")).to_contain_text("Its time is over.")
        await page.goto(link["url"])
        await expect(page.get_by_text("Its time is over.")).to_be_visible()
        await expect(page.get_by_role("button")).to_have_count(0)
        assert await visit.payments(link) == []


async def test_late_money_is_shown_to_customer_and_merchant(visit: Visit, phone: str) -> None:
    link = await visit.link()
    async with visit.window() as page:
        await fill(page, link, phone)
        await press(page)
        await until(page, "Look at your phone")
        assert (await visit.shop("POST", f"/v1/links/{link['id']}/cancel")).status == 200
        await approve(visit.demo, phone)
        await until(page, "Paid. Thank you!")
        assert await visit.payments(link) == ["COMPLETED"]
        assert (await visit.flagged_late(link))["status"] == "CANCELLED"
        await expect(page.get_by_text("It was paid late")).to_be_visible()


async def test_who_pays_after_the_link_has_expired_has_paid_once(visit: Visit, phone: str) -> None:
    """The link expires while the customer is asked on the phone."""
    ends = clock.now() + timedelta(seconds=4)
    link = await visit.link(expiresAt=clock.iso(ends))
    async with visit.window() as page, visit.window() as other:
        await fill(page, link, phone)
        await press(page)
        await until(page, "Look at your phone")
        await asyncio.sleep(max((ends - clock.now()).total_seconds() + 0.1, 0))
        await page.reload()
        await until(page, "Look at your phone")
        await expect(page.get_by_text("Its time is over.")).to_have_count(0)
        await other.goto(link["url"])
        await expect(other.get_by_text("Its time is over.")).to_be_visible()
        await approve(visit.demo, phone)
        await until(page, "Paid. Thank you!")
        assert await visit.payments(link) == ["COMPLETED"]
        found = await visit.flagged_late(link)
        assert (found["status"], found["latePayments"][0]["reason"]) == ("EXPIRED", "expired")
        await page.goto(link["url"])
        await until(page, "Paid. Thank you!")
        await expect(page.get_by_text("It was paid late")).to_be_visible()
        await expect(page.get_by_role("link", name="Receipt", exact=True)).to_be_visible()
        await other.reload()
        for each in (page, other):
            await expect(each.get_by_role("button")).to_have_count(0)
        assert await visit.payments(link) == ["COMPLETED"]


async def test_the_keyboard_is_enough_and_nobody_is_kept_out(scripted: Visit, phone: str) -> None:
    link = await scripted.link()
    async with scripted.window() as page:
        await axe.prepare(page)
        await page.goto(link["url"])
        assert await axe.faults(page) == []
        await page.set_viewport_size(SMALL)
        for _ in range(3):  # past the way to the content and the other language
            await page.keyboard.press("Tab")
        await page.keyboard.type(phone.replace("+255", "0"))
        await expect(page.get_by_text("By the number: M-Pesa")).to_be_visible()
        await page.keyboard.press("Enter")
        await until(page, "Look at your phone")
        assert await axe.faults(page) == []
        await answer(scripted.demo, phone, "decline")
        await until(page, "Not paid")
        assert await axe.faults(page) == []
        await page.goto(f"{link['url']}?lang=sw")
        await expect(page.get_by_role("heading", name="Haijalipwa")).to_be_visible()
        await page.goto(f"{link['url']}/poster")
        assert await axe.faults(page, is_dark_too=False) == []


@pytest.mark.slow
async def test_nobody_is_kept_out_of_the_receipt(scripted: Visit, phone: str) -> None:
    link = await scripted.link()
    async with scripted.window() as page:
        await axe.prepare(page)
        await fill(page, link, phone)
        await press(page)
        await approve(scripted.demo, phone)
        await until(page, "Paid. Thank you!")
        await page.get_by_role("link", name="Receipt", exact=True).click()
        await expect(page).to_have_url(re.compile(r"/receipt/"))
        await until(page, "✓ Paid")
        assert await axe.faults(page) == []
        address = page.url
        await page.goto(f"{address}?lang=sw")
        await expect(page.locator("html")).to_have_attribute("lang", "sw")
        assert await axe.faults(page) == []
        await page.goto(f"{address}x")
        await until(page, "There is no such receipt")
        assert await axe.faults(page) == []


async def test_a_browser_that_keeps_no_cookies_is_asked_once(visit: Visit, phone: str) -> None:
    """It cannot follow its payment, so it says that, and gets no second form by itself."""
    link = await visit.link(reusable=True)
    async with visit.window() as page:
        await forget_cookies(page)
        await fill(page, link, phone)
        await press(page)
        await until(page, "Look at your phone")
        await expect(page.get_by_text("This browser keeps no cookies")).to_be_visible()
        await approve(visit.demo, phone)
        assert await visit.payments(link, ended=1) == ["COMPLETED"]
        await page.reload()
        await until(page, "Look at your phone")
        await expect(page.get_by_role("button")).to_have_count(0)
        assert await visit.payments(link) == ["COMPLETED"]


async def forget_cookies(page: Page) -> None:
    """As a browser in which somebody has switched cookies off."""

    async def answer_without(route: Route) -> None:
        answered = await route.fetch(max_redirects=0)
        await page.context.clear_cookies()
        kept = {name: value for name, value in answered.headers.items() if name != "set-cookie"}
        await route.fulfill(response=answered, headers=kept)

    await page.route("**/pay/**", answer_without)


async def test_a_page_without_scripts_that_loses_the_network_shows_the_truth_when_it_is_opened_again(
    demo: dict[str, Any], shop: Client, browser: Browser, phone: str
) -> None:
    """The browser reloads it by itself, and shows a page of its own until somebody opens the link again."""
    plain = Visit(demo, shop, browser, has_scripts=False)
    link = await plain.link()
    async with plain.window() as page:
        await fill(page, link, phone)
        await press(page)
        await until(page, "Look at your phone")
        async with page.expect_event("requestfailed"):
            await page.context.set_offline(True)
        await approve(plain.demo, phone)
        assert await plain.payments(link, ended=1) == ["COMPLETED"]
        await page.context.set_offline(False)
        await page.goto(link["url"])
        await until(page, "Paid. Thank you!")
        assert await plain.payments(link) == ["COMPLETED"]

"""Nobody is kept out of any scene of a pay page: axe-core looks at each as the pages render it in this process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, Page, Route

from malipo.app.assemble import Service
from malipo.networks.connector import Verdict
from malipo.pay_pages.app import PayPages
from malipo.payments.dispatch import AnswerSource
from tests.browser import axe
from tests.browser.browser_window import NARROW
from tests.conftest import Merchant
from tests.links.link_steps import JUMA, LinkSteps
from tests.pay_pages.customer import HOST, Customer, Seen
from tests.pay_pages.test_pay_page import asked, at, press


class Screen:
    """A browser that shows what the pages in this process have answered."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._shown: Seen | None = None

    async def answer(self, route: Route) -> None:
        assert self._shown is not None
        if "/state" in route.request.url:  # The script asks on.
            await route.fulfill(status=503)
            return
        headers = {name: value for name, value in self._shown.headers.items() if name != "location"}
        await route.fulfill(status=self._shown.status, headers=headers, body=self._shown.body)

    async def faults(self, seen: Seen, *, says: str) -> list[str]:
        self._shown = seen
        await self._page.goto(f"http://{HOST}/pay/shown")
        assert says in seen.words
        return [f"{says}: {each}" for each in await axe.faults(self._page)]


@asynccontextmanager
async def screen_of(browser: Browser) -> AsyncIterator[Screen]:
    context = await browser.new_context(viewport=NARROW)
    page = await context.new_page()
    await axe.prepare(page)
    screen = Screen(page)
    await page.route(f"http://{HOST}/**", screen.answer)
    try:
        yield screen
    finally:
        await context.close()


@pytest.mark.slow
async def test_nobody_is_kept_out_of_any_scene(browser: Browser, service: Service, merchant: Merchant) -> None:
    steps, pages = LinkSteps(service, merchant.id), PayPages(service)
    customer, other, blind = Customer(pages), Customer(pages), Customer(pages, keeps_cookies=False)
    link, open_link = await steps.make(), await steps.make(amount=None, reusable=True)
    found = []
    async with screen_of(browser) as screen:
        found += await screen.faults(await customer.get(at(link)), says="Pay TZS 25,000")
        mistakes = await press(customer, open_link, "12", amount="x")
        found += await screen.faults(mistakes, says="not a Tanzanian mobile number")
        found += await screen.faults(await customer.get("/pay/0000000000000000"), says="There is no such link")
        forged = await customer.post(at(link), {"buyerPhone": "1"}, origin="https://evil.example")
        found += await screen.faults(forged, says="Not sent from here")
        after = await press(blind, open_link, "0754 000 300", amount="1,000")
        found += await screen.faults(await blind.get(after.to), says="This browser keeps no cookies")

        await press(customer, link)
        [payment] = [each for each in await steps.payments() if each.link_id == link.id]
        found += await screen.faults(await customer.get(at(link)), says="On its way to M-Pesa")
        await asked(steps, payment)
        found += await screen.faults(await customer.get(at(link)), says="Look at your phone")
        busy = await press(other, link, "0754 000 200")
        found += await screen.faults(busy, says="A payment of this link is under way")
        await steps.end_prompts()
        found += await screen.faults(await customer.get(at(link)), says="We do not know yet")
        found += await screen.faults(await press(other, link, "0754 000 200"), says="I pay twice")
        await steps.paid(link, JUMA, may_be_second=True)
        await steps.report(payment, Verdict.CONFIRMED, AnswerSource.SEND)
        await steps.count()
        found += await screen.faults(await customer.get(at(link)), says="This was paid twice")
        await steps.contradict(payment, Verdict.REFUSED)
        found += await screen.faults(await customer.get(at(link)), says="taken back")
        found += await screen.faults(await blind.get(at(link)), says="It was paid already")
    assert found == []

"""The steps of users in the pages and at their phones, one function for each."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from playwright.async_api import Page, Route, expect

from tests.conftest import Client


async def make_key(page: Page, name: str) -> str:
    """The key, as it is shown once."""
    await page.goto("/dashboard/keys")
    await page.get_by_role("link", name="New key").first.click()
    await page.get_by_label("Name", exact=True).fill(name)
    await page.get_by_label("Something else").check()
    for words in await page.get_by_role("checkbox").all():
        await words.check()
    await page.get_by_role("button", name="Create the key").click()
    return await _shown_once(page)


async def add_endpoint(page: Page, url: str) -> str:
    """Its secret, as it is shown once."""
    await page.goto("/dashboard/webhooks")
    await page.get_by_role("link", name="Add an endpoint").click()
    await page.get_by_label("Address").fill(url)
    await page.get_by_role("checkbox", name="A customer has paid").check()
    await page.get_by_role("button", name="Add it").click()
    return await _shown_once(page)


async def _shown_once(page: Page) -> str:
    """Read, and not to be had again: further on it is nowhere."""
    secret = (await page.locator(".secret code").inner_text()).strip()
    await page.get_by_role("link", name="I have copied it").click()
    await expect(page.locator(".secret")).to_have_count(0)
    assert secret not in await page.content()
    return secret


async def fill_payout(page: Page, phone: str, amount: str, network: str, name: str) -> None:
    """Up to the page that asks whether it is meant."""
    await page.goto("/dashboard/payout")
    await page.get_by_label("Amount").fill(amount)
    await page.get_by_label("Phone number").fill(phone)
    await page.locator("details.fold summary").first.click()
    await page.get_by_label(network, exact=True).check()
    await page.get_by_label("Name of the recipient").fill(name)
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("heading", name="Is this right?")).to_be_visible()


async def press_twice(page: Page, name: str, *, url: str | None = None) -> None:
    """The form arrives; its answer is lost on the way, the page stands as it stood, and it is pressed again."""
    has_arrived = asyncio.Event()

    async def lose(route: Route) -> None:
        await route.fetch(max_redirects=0)
        await route.abort("aborted")
        has_arrived.set()

    await page.route(url or page.url, lose, times=1)
    button = page.get_by_role("button", name=name)
    await button.click()
    await has_arrived.wait()
    await button.click()


async def ask_for_money(shop: Client, phone: str, *, name: str = "Asha") -> str:
    body = {"amount": 12_500, "channel": "MPESA", "buyerPhone": phone, "buyerName": name}
    return str((await shop("POST", "/v1/payments", body)).body["transaction"]["id"])


async def approve(demo: dict[str, Any], phone: str) -> None:
    """The customer types the PIN, as soon as the phone asks for it."""
    await answer(demo, phone, "approve")


async def answer(demo: dict[str, Any], phone: str, action: str) -> None:
    async with aiohttp.ClientSession(demo["phonesUrl"]) as http:
        for _ in range(200):
            async with http.get("/api/prompts", params={"phone": phone}) as found:
                waiting = [each["id"] for each in await found.json() if each["state"] == "waiting"]
            if waiting:
                async with http.post(f"/api/prompts/{waiting[0]}", json={"action": action}) as done:
                    assert done.status == 200
                return
            await asyncio.sleep(0.05)
    raise AssertionError("the phone was never asked")


@asynccontextmanager
async def broken_down(demo: dict[str, Any], shop: Client, channel: str) -> AsyncIterator[None]:
    """A network that malipo knows to be down, so that nothing is sent to it."""
    await _switch(demo, channel, is_down=True)
    try:
        for number in range(5):
            body = {"amount": 500, "channel": channel, "buyerPhone": f"+25568455500{number}", "buyerName": "Asha"}
            assert (await shop("POST", "/v1/payments", body)).status == 201
        await _until_down(shop, channel)
        yield
    finally:
        await _switch(demo, channel, is_down=False)


async def _switch(demo: dict[str, Any], channel: str, *, is_down: bool) -> None:
    url, change = f"{demo['phonesUrl']}/api/control", {"channels": {channel: {"isDown": is_down}}}
    async with aiohttp.ClientSession() as http, http.patch(url, json=change) as answer:
        assert answer.status == 200


async def _until_down(shop: Client, channel: str) -> None:
    for _ in range(4800):
        found = (await shop("GET", "/v1/channels")).body["channels"]
        if not next(each["isUp"] for each in found if each["channel"] == channel):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{channel} was never seen to be down")


async def wallet(shop: Client) -> int:
    """What can be paid out."""
    return int((await shop("GET", "/v1/wallet")).body["wallet"]["available"])


async def moved_for(shop: Client, payment: str) -> int:
    """What the wallet got by one payment. The balance is also changed by others that end meanwhile."""
    entries = (await shop("GET", "/v1/wallet/entries?limit=100")).body["entries"]
    return sum(each["amount"] for each in entries if each["causeId"] == payment)


async def invite(page: Page, email: str, role: str) -> str:
    """The link by which somebody new chooses a password."""
    await page.goto("/dashboard/settings/people")
    await page.get_by_role("link", name="Add a person").click()
    await page.get_by_label("Name").fill("Upendo Shirima")
    await page.get_by_label("Email").fill(email)
    await page.get_by_label(role).check()
    await page.get_by_role("button", name="Add them").click()
    return await _shown_once(page)

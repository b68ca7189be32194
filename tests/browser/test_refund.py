"""A customer brings the goods back: the shop refunds the payment in three clicks, in Kiswahili."""

from typing import Any

import aiohttp
import pytest
from playwright.async_api import Page, ViewportSize, expect

from malipo.dashboard.language import Translator
from malipo.http.accept_language import Language
from tests.browser.browser_window import NARROW, WIDE, Windows, until_live
from tests.browser.untranslated import english_in
from tests.conftest import Client

sw = Translator(Language.KISWAHILI)


@pytest.mark.parametrize("size", [WIDE, pytest.param(NARROW, marks=pytest.mark.slow)], ids=["wide", "narrow"])
async def test_a_customer_is_refunded_in_three_clicks(
    demo: dict[str, Any], windows: Windows, shop: Client, size: ViewportSize
) -> None:
    phone = f"+255754{size['width']:06}"
    paid = await _paid(shop, phone, 12_500)
    async with windows.open() as page:
        await page.goto("/dashboard")
        await page.get_by_role("button", name="Kiswahili").first.click()
        await expect(page.locator("html")).to_have_attribute("lang", "sw")
        await page.set_viewport_size(size)
        await page.goto(f"/dashboard/transactions/{paid}")
        await until_live(page)

        await page.get_by_role("link", name=sw("Refund {amount}", amount="TZS 12,500")).click()
        await expect(page.locator("#field-amount")).to_have_value("12,500")
        await _check(page)
        await page.get_by_role("button", name=sw("Continue")).click()
        await expect(page.locator(".meant")).to_contain_text("TZS 12,500")
        await _check(page)
        await page.get_by_role("button", name=sw("Yes, refund it")).click()

        await page.wait_for_url("**/transactions/txn_*")
        await expect(page.locator("#facts")).to_contain_text(sw("Completed"))
        await _check(page)
        await page.goto(f"/dashboard/transactions/{paid}")
        await expect(page.get_by_role("main")).to_contain_text(sw("Refunded"))
        await expect(page.locator('a[href$="/refund"]')).to_have_count(0)
        await _check(page)
    moves = (await _at_phone(demo, phone))["movements"]
    assert [(each["kind"], each["amount"]) for each in moves] == [("charged", 12_500), ("paid", 12_500)]


async def _paid(shop: Client, phone: str, amount: int) -> str:
    asked = {"amount": amount, "channel": "MPESA", "buyerPhone": phone, "buyerName": "Neema Shayo"}
    made = (await shop("POST", "/v1/payments", asked)).body["transaction"]
    while made["status"] != "COMPLETED":
        made = (await shop("GET", f"/v1/payments/{made['id']}?wait=10")).body["transaction"]
    return str(made["id"])


async def _check(page: Page) -> None:
    assert await english_in(page) == []
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def _at_phone(demo: dict[str, Any], phone: str) -> Any:
    """What really moved, by the network's own book."""
    async with aiohttp.request("GET", f"{demo['phonesUrl']}/api/phones/{phone.replace('+', '%2B')}") as answer:
        return await answer.json()

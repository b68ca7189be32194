"""A shop takes its balance to the bank, on a phone, in Kiswahili: from the wallet to the settlement, and back."""

from typing import Any

from playwright.async_api import Browser, Page, ViewportSize, expect

from malipo.dashboard.language import Translator
from malipo.http.accept_language import Language
from tests.browser.browser_window import Windows
from tests.browser.untranslated import english_in

sw = Translator(Language.KISWAHILI)
PHONE: ViewportSize = {"width": 360, "height": 780}


async def test_the_balance_is_withdrawn_on_a_phone_and_cancelled_again(browser: Browser, demo: dict[str, Any]) -> None:
    windows = await Windows(browser).logged_in(demo["baseUrl"], demo["email"], demo["password"])
    async with windows.open(PHONE) as page:
        await page.goto("/dashboard/wallet")
        await page.locator("summary").first.click()
        await page.get_by_role("button", name="Kiswahili").last.click()
        await expect(page.locator("html")).to_have_attribute("lang", "sw")

        await page.get_by_role("main").get_by_role("link", name=sw("Withdraw to bank"), exact=True).click()
        await _fits(page)
        await page.locator("#field-amount").fill("12,500")
        await page.get_by_role("button", name=sw("Continue")).click()
        await expect(page.locator(".meant")).to_contain_text("12,500")
        await expect(page.locator(".meant")).to_contain_text("CRDB")
        await _fits(page)
        await page.get_by_role("button", name=sw("Yes, withdraw it")).click()

        await page.wait_for_url("**/settlements/stl_*")
        await expect(page.locator("#state")).to_contain_text(sw("Waits for the bank's file"))
        await _fits(page)
        await page.get_by_role("link", name=sw("Cancel it…")).click()
        await _fits(page)
        await page.get_by_role("button", name=sw("Yes, cancel it")).click()
        await expect(page.locator("#state")).to_contain_text(sw("Cancelled"))
        await expect(page.get_by_role("main")).to_contain_text(
            sw("It is cancelled. The amount is in your wallet again.")
        )


async def _fits(page: Page) -> None:
    """Nobody has to push it from side to side, and nothing of it is in English."""
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await english_in(page) == []

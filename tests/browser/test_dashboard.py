"""Whole stories of a shop, in the pages that its people use."""

from typing import Any

from playwright.async_api import expect

from tests.browser.steps import add_endpoint, approve, ask_for_money, make_key
from tests.browser.window import Windows, log_in, until_live
from tests.conftest import Client
from tests.journeys.receivers import a_receiver
from tests.webhooks.official import verify_with_python


async def test_from_the_first_key_to_a_webhook_that_was_taken(
    demo: dict[str, Any], windows: Windows, shop: Client, phone: str
) -> None:
    async with a_receiver() as receiver, windows.strange().open() as page:
        await log_in(page, demo["email"], demo["password"])
        secret = await add_endpoint(page, receiver.url("/hook"))
        key = await make_key(page, "Web shop")
        await page.get_by_role("link", name="Transactions").first.click()
        await until_live(page)

        payment = await ask_for_money(shop.as_(key), phone, name="Neema Massawe")
        row = page.locator(f"tr#{payment}")
        await expect(row).to_contain_text("Processing", timeout=10_000)
        await approve(demo, phone)
        await expect(row).to_contain_text("Completed", timeout=10_000)

        await row.get_by_role("link", name="Neema Massawe").click()
        happened = page.locator("#timeline")
        await expect(happened).to_contain_text("Your server 127.0.0.1 was told", timeout=10_000)
        for words in ("Taken in.", "On its way:", "The customer has paid.", "TZS 12,500 added to the wallet."):
            await expect(happened).to_contain_text(words)

        await page.goto("/dashboard/webhooks")
        await page.get_by_role("link", name=receiver.url("/hook")).click()
        await page.get_by_role("link", name="A customer has paid").click()
        await expect(page.get_by_role("status")).to_contain_text("Your server has taken it.")
        await expect(page.locator(".try")).to_contain_text("HTTP 200")
        (got,) = receiver.at("/hook")
        verify_with_python(secret, got.headers, got.body)

"""Whole stories of a shop, in the pages that its people use."""

import csv
import re
from typing import Any

from playwright.async_api import expect

from tests.browser.browser_window import NARROW, Windows, log_in, until_live
from tests.browser.user_steps import (
    add_endpoint,
    approve,
    ask_for_money,
    broken_down,
    fill_payout,
    invite,
    make_key,
    press_twice,
    wallet,
)
from tests.conftest import Client
from tests.journeys.webhook_receivers import a_receiver
from tests.webhooks.official import verify_with_python


async def test_from_the_first_key_to_a_webhook_that_was_taken(
    demo: dict[str, Any], windows: Windows, shop: Client, phone: str
) -> None:
    async with a_receiver() as receiver, windows.strange().open() as page:
        await log_in(page, demo["email"], demo["password"])
        secret = await add_endpoint(page, receiver.url("/hook"))
        key = await make_key(page, "Tovuti ya duka")
        await page.get_by_role("link", name="Transactions").first.click()
        await until_live(page)

        payment = await ask_for_money(shop.as_(key), phone, name="Neema Massawe")
        row = page.locator(f"tr#{payment}")
        await expect(row).to_contain_text("Processing")
        await approve(demo, phone)
        await expect(row).to_contain_text("Completed")

        await row.get_by_role("link", name="Neema Massawe").click()
        happened = page.locator("#timeline")
        await expect(happened).to_contain_text(re.compile(r"Your server 127\.0\.0\.1:\d+ was told"))
        for words in ("Taken in.", "On its way:", "The customer has paid.", "TZS 12,500 added to the wallet."):
            await expect(happened).to_contain_text(words)

        await page.goto("/dashboard/webhooks")
        await page.get_by_role("link", name=receiver.url("/hook")).click()
        await page.get_by_role("link", name="A customer has paid").click()
        # Other notices are of other stories: the demo is theirs too.
        await expect(page.get_by_role("status").filter(has_text="Your server has taken it.")).to_be_visible()
        await expect(page.locator(".try")).to_contain_text("HTTP 200")
        (got,) = receiver.at("/hook")
        verify_with_python(secret, got.headers, got.body)


async def test_a_payout_is_asked_about_once_more_and_pressed_twice_makes_one(windows: Windows) -> None:
    """Without scripts, which would keep the second press from us: that it makes one is the server's promise."""
    async with windows.open(NARROW, java_script_enabled=False) as page:
        await fill_payout(page, "0754 555 010", "25,000", "M-Pesa", "Juma Mushi")
        for words in ("TZS 25,000", "Juma Mushi", "+255 754 555 010"):
            await expect(page.locator(".meant")).to_contain_text(words)
        await press_twice(page, "Yes, send the money")
        await expect(page.get_by_role("heading", name="Payout to Juma Mushi")).to_be_visible()
        await page.goto("/dashboard/transactions?search=0754555010")
        await expect(page.locator("#results tbody tr")).to_have_count(1)
        # Nothing is cut off or has to be pushed sideways.
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_a_payout_is_taken_back_while_its_network_is_down(
    demo: dict[str, Any], windows: Windows, shop: Client
) -> None:
    async with broken_down(demo, shop, "AIRTEL_MONEY"), windows.open() as page:
        before = await wallet(shop)
        await fill_payout(page, "0684 555 020", "40,000", "Airtel Money", "Rehema Kileo")
        await page.get_by_role("button", name="Yes, send the money").click()
        await expect(page.locator("#facts")).to_contain_text("Pending")
        assert await wallet(shop) == before - 40_000
        await page.get_by_role("link", name="Cancel it").click()
        await page.get_by_role("button", name="Yes, cancel it").click()
        await expect(page.locator("#facts")).to_contain_text("Cancelled")
        await expect(page.get_by_role("link", name="Cancel it")).to_have_count(0)
        assert await wallet(shop) == before


async def test_what_is_found_by_typing_is_what_the_file_holds(windows: Windows, shop: Client, phone: str) -> None:
    payment = await ask_for_money(shop, phone, name="=Zawadi, Mwanza")
    await ask_for_money(shop, phone.replace("100", "101"), name="Mtu mwingine")
    async with windows.open() as page:
        await page.goto("/dashboard/transactions")
        await page.get_by_label("Search").press_sequentially("=zawadi")
        await expect(page.locator("#results tbody tr")).to_have_count(1)
        await expect(page).to_have_url(re.compile("search=%3Dzawadi"))
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Download CSV").click()
        text = (await (await download.value).path()).read_text(encoding="utf-8-sig")
    (row,) = csv.DictReader(text.splitlines())
    assert (row["id"], row["amount"], row["channel"], row["type"]) == (payment, "12500", "MPESA", "COLLECTION")
    # A spreadsheet must not run what a customer is called.
    assert row["name"].endswith("=Zawadi, Mwanza")
    assert not row["name"].startswith("=")


async def test_a_viewer_is_let_in_by_a_link_and_cannot_pay(windows: Windows) -> None:
    async with windows.open() as owner, windows.strange().open(NARROW) as viewer:
        await viewer.goto(await invite(owner, "viewer@malipo.example", "Viewer"))
        await viewer.get_by_label("New password", exact=True).fill("pamba la Mwanza 9")
        await viewer.get_by_label("Repeat the new password").fill("pamba la Mwanza 9")
        await viewer.get_by_role("button", name="Save the password").click()
        await log_in(viewer, "viewer@malipo.example", "pamba la Mwanza 9")
        for path in ("/dashboard", "/dashboard/transactions", "/dashboard/keys", "/dashboard/webhooks"):
            await viewer.goto(path)
            await expect(viewer.locator('a[href="/dashboard/payout"], a[href$="/new"]')).to_have_count(0)
        token = await viewer.locator('input[name="token"]').first.input_value()
        form: dict[str, str | float | bool]
        form = {"token": token, "amount": "1000", "phone": "0754555030", "channel": "MPESA", "step": "pay"}
        here = {"Origin": str(windows.url), "Sec-Fetch-Site": "same-origin"}
        answer = await viewer.request.post("/dashboard/payout", form=form, headers=here)
        assert answer.status == 403
        assert "Your role does not allow this." in await answer.text()


async def test_without_scripts_everything_works_that_is_not_live(
    demo: dict[str, Any], windows: Windows, shop: Client
) -> None:
    async with windows.strange().open(NARROW, java_script_enabled=False) as page:
        await log_in(page, demo["email"], demo["password"])
        key = await make_key(page, "Kaunta ya zamani")
        await fill_payout(page, "0754 555 040", "7,000", "M-Pesa", "Baraka Lema")
        await page.get_by_role("button", name="Yes, send the money").click()
        await expect(page.get_by_role("heading", name="Payout to Baraka Lema")).to_be_visible()

        await page.goto("/dashboard/transactions")
        await page.get_by_label("Search").fill("0754 555 040")
        await page.get_by_text("Filters").click()
        await page.get_by_label("Type").select_option("Payout")
        await page.get_by_role("button", name="Show").click()
        await expect(page.locator("#results tbody tr")).to_have_count(1)

        assert (await shop.as_(key)("GET", "/v1/wallet")).status == 200
        await page.goto("/dashboard/keys")
        await page.get_by_role("link", name="Revoke Kaunta ya zamani").click()
        await page.get_by_role("button", name="Yes, revoke it").click()
        await expect(page.get_by_text("Kaunta ya zamani")).to_have_count(0)
        assert (await shop.as_(key)("GET", "/v1/wallet")).status == 401
        await page.locator("summary").first.click()
        await page.get_by_role("button", name="Log out").click()
        await expect(page.get_by_role("heading", name="Log in")).to_be_visible()

"""The documentation in a browser: can everybody use it, and do tabs, search, menu and the page for trying work?"""

import re
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.browser import axe
from tests.browser.browser_window import NARROW, Windows


@pytest.fixture
def readers(browser: Browser, demo: dict[str, Any]) -> Windows:
    return Windows(browser, demo["baseUrl"])


async def test_the_page_for_trying_is_for_everybody(readers: Windows) -> None:
    await _assert_for_everybody(readers, "/docs/try")


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", ["/docs/trying", "/docs/reference", "/docs/reference/collect", "/docs/reference/error-codes"]
)
async def test_the_other_pages_are_for_everybody(readers: Windows, path: str) -> None:
    await _assert_for_everybody(readers, path)


async def _assert_for_everybody(readers: Windows, path: str) -> None:
    async with readers.open(reduced_motion="reduce") as page:
        await axe.prepare(page)
        await page.goto(path)
        await expect(page.locator("html")).to_have_class("scripted")
        assert await axe.faults(page) == []


async def test_a_language_is_chosen_once_and_copied(readers: Windows) -> None:
    async with readers.open(permissions=["clipboard-read", "clipboard-write"]) as page:
        await page.goto("/docs")
        first = page.locator(".tabs").first
        await expect(first.locator(".code:visible")).to_have_attribute("data-language", "sh")
        await first.get_by_role("tab", name="PHP").click()
        for shown in await page.locator(".tabs .code:visible").all():
            await expect(shown).to_have_attribute("data-language", "php")
        await page.goto("/docs/payments")
        await expect(page.locator(".tabs .code:visible").first).to_have_attribute("data-language", "php")
        await page.locator(".tabs .code:visible .copy").first.click()
        assert "$client->payments->collect(" in await page.evaluate("navigator.clipboard.readText()")
        await page.locator(".tabs").first.get_by_role("tab", name="PHP").press("ArrowLeft")
        await expect(page.locator(".tabs .code:visible").first).to_have_attribute("data-language", "typescript")


async def test_the_search_is_used_without_a_mouse(readers: Windows) -> None:
    async with readers.open() as page:
        await page.goto("/docs")
        await page.keyboard.press("/")
        await page.keyboard.type("give money back")
        await expect(page.get_by_role("option").first).to_contain_text("Refund")
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("ArrowUp")
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(re.compile("/docs/refunds"))
        await page.get_by_role("combobox").fill("zzzzqqq")
        await expect(page.locator(".found")).to_have_text("Nothing was found.")
        await page.keyboard.press("Escape")
        await expect(page.locator(".found")).to_be_hidden()


async def test_a_telephone_has_the_contents_behind_a_link(readers: Windows) -> None:
    async with readers.open(NARROW) as page:
        await page.goto("/docs")
        contents = page.get_by_role("navigation", name="Contents")
        await expect(contents).to_be_hidden()
        await page.get_by_role("link", name="Menu").click()
        await contents.get_by_role("link", name="Webhooks").click()
        await expect(page.get_by_role("heading", name="Webhooks", level=1)).to_be_visible()
        await expect(contents).to_be_hidden()


async def test_without_scripts_every_sample_is_shown(readers: Windows) -> None:
    async with readers.open(java_script_enabled=False) as page:
        await page.goto("/docs")
        assert await page.locator(".tabs").first.locator(".code:visible").count() == 4
        await expect(page.locator(".copy")).to_have_count(0)
        await expect(page.get_by_role("combobox")).to_be_hidden()


async def test_a_request_is_tried_with_ones_own_key(readers: Windows, demo: dict[str, Any]) -> None:
    async with readers.open() as page:
        await page.goto("/docs/try#getWallet")
        await page.get_by_label("API key").fill(demo["apiKey"])
        await page.get_by_role("button", name="Send").click()
        await expect(page.get_by_role("heading", name="200 OK")).to_be_visible()
        await expect(page.locator("#answer")).to_contain_text('"available": ')
        await page.get_by_label("What").select_option("collect")
        key = await page.get_by_label("Idempotency-Key").input_value()
        for replayed in (False, True):  # Pressed twice, it is one payment.
            await page.get_by_role("button", name="Send").click()
            await expect(page.get_by_role("heading", name="201 Created")).to_be_visible()
            if replayed:
                await expect(page.locator("#headers")).to_contain_text("idempotency-replayed: true")
        assert key.startswith("try-")


async def test_links_to_where_a_thing_of_the_reference_was_lead_to_it(readers: Windows) -> None:
    async with readers.open() as page:
        for link, place in (
            ("/docs#collect", "/docs/reference/collect"),
            ("/docs/reference#listWalletEntries", "/docs/reference/listWalletEntries"),
            ("/docs/reference#received", "/docs/reference/received"),
            ("/docs/reference#code-phone_invalid", "/docs/reference/error-codes#code-phone_invalid"),
            ("/docs/reference#batches", "/docs/reference#batches"),
        ):
            await page.goto("about:blank")  # or only the part after # would change
            await page.goto(link, wait_until="commit")
            await expect(page).to_have_url(re.compile(re.escape(place) + "$"))


async def test_samples_of_the_reference_stay_in_their_box_on_the_smallest_telephone(readers: Windows) -> None:
    async with readers.open({"width": 360, "height": 800}) as page:
        for path in ("/docs/reference/list", "/docs/reference/createBatch", "/docs/reference/received"):
            await page.goto(path)
            await expect(page.locator("html")).to_have_class("scripted")
            for sample in await page.locator(".code pre:visible").all():
                assert await sample.evaluate("each => each.scrollWidth <= each.clientWidth"), path
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path

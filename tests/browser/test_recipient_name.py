"""While a payout is typed, the page says whose number it is; without scripts the next page does."""

import pytest
from playwright.async_api import ViewportSize, expect

from malipo_simulator.subscriber_names import subscriber_of
from tests.browser.browser_window import NARROW, WIDE, Windows
from tests.browser.user_steps import fill_payout

NAME = subscriber_of("+255684777456").name
FOUND = f"Airtel Money has this number under the name {NAME}."


@pytest.mark.parametrize("size", [WIDE, pytest.param(NARROW, marks=pytest.mark.slow)], ids=["wide", "narrow"])
async def test_the_name_appears_and_another_one_is_a_warning(windows: Windows, size: ViewportSize) -> None:
    async with windows.open(size) as page:
        await page.goto("/dashboard/payout")
        place = page.locator("[data-recipient]")
        await page.get_by_label("Phone number").fill("0684 777 456")
        await page.locator("details.fold summary").first.click()
        await page.get_by_label("Airtel Money", exact=True).check()
        await expect(place).to_contain_text(FOUND)
        await page.get_by_label("Name of the recipient").fill("Pili Pili")
        await expect(place).to_contain_text(f"under another name: {NAME}. You typed Pili Pili.")
        await page.get_by_label("Name of the recipient").fill(NAME.title())
        await expect(place).to_contain_text(FOUND)
        await page.get_by_label("Phone number").fill("0684 777")
        await expect(place).to_be_empty()


async def test_without_scripts_the_next_page_has_the_name(windows: Windows) -> None:
    async with windows.open(NARROW, java_script_enabled=False) as page:
        await fill_payout(page, "0684 777 456", "25,000", "Airtel Money", "Pili Pili")
        await expect(page.get_by_text(f"under another name: {NAME}.")).to_be_visible()
        await expect(page.get_by_role("button", name="Yes, send the money")).to_be_visible()

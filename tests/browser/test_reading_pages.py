"""What scripts and styles add for the reader: mistakes get the focus, charts are read by tap and by keyboard, the open
tab is in view."""

import re

from playwright.async_api import ViewportSize, expect

from tests.browser.browser_window import Windows
from tests.browser.user_steps import approve, ask_for_money
from tests.conftest import Client

SMALL: ViewportSize = {"width": 360, "height": 740}


async def test_a_form_with_mistakes_opens_on_them_and_leads_to_each(windows: Windows) -> None:
    async with windows.open() as page:
        await page.goto("/dashboard/collect")
        await expect(page).to_have_title(re.compile("^New collection"))
        await page.locator("#field-amount").fill("100")
        await page.get_by_role("button", name="Continue").click()

        await expect(page).to_have_title(re.compile("^Error: New collection"))
        summary = page.locator(".mistakes")
        await expect(summary).to_be_focused()
        await expect(summary.get_by_role("listitem")).to_have_text(
            [re.compile(f"^{label}: ") for label in ("Amount", "Phone number")]
        )
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(page.locator("#field-amount")).to_be_focused()
        await summary.get_by_role("link", name="Phone number").click()
        await expect(page.locator("#field-phone")).to_be_focused()


async def test_a_chart_is_read_by_tap_and_by_keyboard(
    demo: dict[str, str], windows: Windows, shop: Client, phone: str
) -> None:
    payment = await ask_for_money(shop, phone)
    await approve(demo, phone)
    await shop("GET", f"/v1/payments/{payment}?wait=10")
    async with windows.open(SMALL, has_touch=True) as page:
        await page.goto("/dashboard?days=7")
        graph = page.locator('[data-graph="Money in and out, day by day"]')
        slider, output = graph.get_by_role("slider"), graph.locator("output")
        # As soon as the payment is counted, nothing on the page changes any more.
        await expect(slider).to_have_attribute("aria-valuetext", re.compile("TZS [1-9][0-9,]* in"))
        await expect(output).to_have_text("Tap a day to see its figures.")
        await slider.scroll_into_view_if_needed()
        box = await slider.bounding_box()
        assert box is not None
        for column in (0, 3, 6):
            await page.touchscreen.tap(box["x"] + box["width"] * (column + 0.5) / 7, box["y"] + box["height"] / 2)
            await expect(slider).to_have_value(str(column))
        await expect(output).to_have_text(re.compile(r"TZS [\d,]+ in, TZS [\d,]+ out"))
        today = await output.text_content()
        await slider.press("ArrowLeft")
        await expect(slider).to_have_value("5")
        await expect(output).not_to_have_text(str(today))
        await expect(slider).to_have_attribute("aria-valuetext", re.compile("TZS 0 in"))


async def test_the_open_tab_is_in_view_on_the_smallest_telephone(windows: Windows) -> None:
    # As high as the page: what stands above the tabs may push them down, and is not what this is about.
    async with windows.open({"width": SMALL["width"], "height": 3000}) as page:
        for path in ("/dashboard/settings", "/dashboard/settings/activity"):
            await page.goto(path)
            await expect(page.locator(".tabs [aria-current]")).to_be_in_viewport(ratio=0.9)

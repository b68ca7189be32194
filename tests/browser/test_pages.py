"""Every page, with something on it: can everybody use it, does it fit a phone, and is it wholly in Kiswahili?"""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from playwright.async_api import Page

from tests.browser import axe
from tests.browser.scene import Scene, staged
from tests.browser.steps import fill_payout
from tests.browser.window import NARROW, WIDE, Windows
from tests.conftest import Client


@pytest.fixture(scope="module")
async def scene(demo: dict[str, Any]) -> AsyncIterator[Scene]:
    async with aiohttp.ClientSession() as http, staged(demo, Client(http, demo["baseUrl"], demo["apiKey"])) as scene:
        yield scene


async def test_every_page_is_for_everybody(windows: Windows, scene: Scene) -> None:
    wrong: list[str] = []
    async with windows.open(reduced_motion="reduce") as page:
        await axe.prepare(page)
        for path in scene.pages():
            answer = await page.goto(path)
            assert answer is not None
            assert answer.status == 200, path
            wrong += [f"{path} {each}" for each in await _faults(page)]
    assert wrong == []


async def test_forms_with_mistakes_and_what_is_shown_once_are_for_everybody(windows: Windows, scene: Scene) -> None:
    async with windows.open(reduced_motion="reduce") as page:
        await axe.prepare(page)
        await fill_payout(page, "0754 777 001", "1,000", "Airtel Money", "Juma")
        assert await _faults(page) == []
        await page.goto("/dashboard/keys/new")
        await page.get_by_label("Name", exact=True).fill("Till")
        await page.get_by_role("button", name="Create the key").click()
        assert await page.locator(".secret").count() == 1
        assert await _faults(page) == []


async def _faults(page: Page) -> list[str]:
    """Wide and narrow, light and dark. The page is told, and not loaded again."""
    found = [f"wide: {each}" for each in await axe.faults(page)]
    await page.emulate_media(color_scheme="dark")
    found += [f"wide, dark: {each}" for each in await axe.faults_of_colour(page)]
    await page.set_viewport_size(NARROW)
    found += [f"narrow, dark: {each}" for each in await axe.faults_of_colour(page)]
    await page.emulate_media(color_scheme="light")
    found += [f"narrow: {each}" for each in await axe.faults(page)]
    if not await page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
        found.append("narrow: it has to be pushed sideways")
    await page.set_viewport_size(WIDE)
    return found

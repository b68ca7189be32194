"""Every page, with something on it: can everybody use it, does it fit a phone, and is it wholly in Kiswahili?

`./test` looks at the main pages, which have every part that there is; `./test --slow` at all.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from playwright.async_api import Page, expect

from tests.browser import axe
from tests.browser.browser_window import Windows, log_in_as_operator
from tests.browser.sample_data import OPERATOR_PATHS, PATHS, Scene, banked, reconciled, staged, with_merchant
from tests.browser.untranslated import english_in
from tests.browser.user_steps import fill_payout
from tests.conftest import Client

FOR_STRANGERS = ("/dashboard/login", "/dashboard/password")
OF_BANK = "/operator/bank"
RECONCILIATION = tuple(f"/operator/{each}" for each in ("floats", "statements", "exceptions", "close", "audit"))
# For who has typed a password and no code yet: tests/browser/test_second_factor.py looks at them.
BETWEEN = ("/dashboard/login/code", "/operator/login/code")


@pytest.fixture(scope="module")
async def scene(demo: dict[str, Any]) -> AsyncIterator[Scene]:
    async with aiohttp.ClientSession() as http, staged(demo, Client(http, demo["baseUrl"], demo["apiKey"])) as scene:
        yield scene


@pytest.fixture(scope="module")
async def looking(windows: Windows, scene: Scene) -> AsyncIterator[Page]:
    """One window for all pages."""
    async with windows.open(reduced_motion="reduce") as page:
        await axe.prepare(page)
        yield page


def _is_main(path: str) -> bool:
    return path.count("/") <= 2


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[] if _is_main(path) else pytest.mark.slow)
        for path in PATHS
        if path not in (*FOR_STRANGERS, *BETWEEN)
    ],
)
async def test_it_is_for_everybody(looking: Page, scene: Scene, path: str) -> None:
    assert await _faults(looking, scene.path(path)) == []


async def test_the_doors_are_for_everybody(windows: Windows, scene: Scene) -> None:
    async with windows.strange().open(reduced_motion="reduce") as page:
        await axe.prepare(page)
        for path in FOR_STRANGERS:
            assert await _faults(page, scene.path(path)) == []


@pytest.mark.slow
async def test_the_operators_pages_are_for_everybody(operator: tuple[str, str], windows: Windows, scene: Scene) -> None:
    async with windows.strange().open(reduced_motion="reduce") as page:
        await axe.prepare(page)
        assert await _faults(page, OPERATOR_PATHS[0]) == []
        await log_in_as_operator(page, *operator)
        scene = await with_merchant(page, scene)
        paths = [each for each in OPERATOR_PATHS if not each.startswith((*RECONCILIATION, f"{OF_BANK}/"))]
        for path in (each for each in paths[1:] if each not in BETWEEN):
            assert await _faults(page, scene.path(path)) == [], path
        await page.goto(f"/operator/cases/chosen?payment={scene.stuck}")
        assert await axe.faults(page) == []
        await page.goto("/operator/ledger")
        await page.get_by_role("main").get_by_role("button").click()
        assert await axe.faults(page) == []
        assert await _english_on_the_way(page, scene, paths) == {}


@pytest.mark.slow
async def test_the_pages_of_reconciliation_are_for_everybody(
    operator: tuple[str, str], windows: Windows, scene: Scene, tmp_path: Path
) -> None:
    async with windows.strange().open(reduced_motion="reduce") as page:
        await axe.prepare(page)
        await log_in_as_operator(page, *operator)
        scene = await reconciled(page, scene, tmp_path)
        paths = [each for each in OPERATOR_PATHS if each.startswith(RECONCILIATION)]
        paths.append(f"/operator/exceptions/chosen?exception={scene.exception}")
        for path in paths:
            assert await _faults(page, scene.path(path)) == [], path
        assert await _english_on_the_way(page, scene, paths) == {}


@pytest.mark.slow
async def test_the_pages_of_our_bank_accounts_are_for_everybody(
    operator: tuple[str, str], windows: Windows, scene: Scene, tmp_path: Path
) -> None:
    async with windows.strange().open(reduced_motion="reduce") as page:
        await axe.prepare(page)
        await log_in_as_operator(page, *operator)
        scene = await banked(page, scene, tmp_path)
        paths = [each for each in OPERATOR_PATHS if each.startswith(f"{OF_BANK}/")]
        for path in paths:
            assert await _faults(page, scene.path(path)) == [], path
        assert await _english_on_the_way(page, scene, paths) == {}


async def _faults(page: Page, path: str) -> list[str]:
    answer = await page.goto(path)
    assert answer is not None
    assert answer.status == 200
    assert page.url.endswith(path), "it was led elsewhere"
    # Pages below the main ones are made of the same parts, in the same colours.
    return await axe.faults(page, is_dark_too=_is_main(path))


async def test_forms_with_mistakes_and_what_is_shown_once_are_for_everybody(looking: Page) -> None:
    await fill_payout(looking, "0754 777 001", "1,000", "Airtel Money", "Juma")
    await expect(looking.locator(".notice", has_text="first given out by M-Pesa")).to_be_visible()
    assert await axe.faults(looking) == []
    await looking.goto("/dashboard/keys/new")
    await looking.get_by_role("button", name="Create the key").click()
    await expect(looking.locator(".wrong")).to_be_visible()
    assert await axe.faults(looking) == []
    await looking.get_by_label("Name", exact=True).fill("Kaunta")
    await looking.get_by_role("button", name="Create the key").click()
    await expect(looking.locator(".secret")).to_be_visible()
    assert await axe.faults(looking) == []


@pytest.mark.slow
async def test_in_kiswahili_no_english_is_left(windows: Windows, scene: Scene) -> None:
    async with windows.open() as page:
        await page.goto("/dashboard")
        assert await english_in(page) != [], "the check finds nothing"
        assert await _english_on_the_way(page, scene, [*PATHS, "/dashboard/no-such-page"]) == {}
        await page.get_by_role("button", name="English").first.click()
        await expect(page.locator("html")).to_have_attribute("lang", "en")


async def _english_on_the_way(page: Page, scene: Scene, paths: list[str]) -> dict[str, list[str]]:
    await page.get_by_role("button", name="Kiswahili").first.click()
    await expect(page.locator("html")).to_have_attribute("lang", "sw")
    left: dict[str, list[str]] = {}
    for path in paths:
        await page.goto(scene.path(path), wait_until="domcontentloaded")
        if found := await english_in(page):
            left[path] = found
    return left

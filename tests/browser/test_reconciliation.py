"""Finance imports a statement, sees three exceptions, resolves them with a colleague, and closes the day."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from malipo.db import Database
from tests.browser.browser_window import NARROW, Windows, log_in_as_operator
from tests.browser.sample_statements import FINANCE, PASSWORD, Yesterday, at_work
from tests.conftest import create_database


@pytest.fixture
async def yesterday(browser: Browser, postgres: str, template: str, tmp_path: Path) -> AsyncIterator[Yesterday]:
    database_url = await create_database(postgres, template)
    async with (
        Database.opened(database_url, size=4) as database,
        at_work(database, database_url, tmp_path) as yesterday,
    ):
        yield yesterday


@pytest.mark.slow
async def test_a_statement_is_imported_its_exceptions_resolved_by_two_and_the_day_closed(
    browser: Browser, yesterday: Yesterday
) -> None:
    windows = Windows(browser, url=yesterday.url)
    async with windows.open() as zuhura, windows.open(NARROW, java_script_enabled=False) as baraka:
        await log_in_as_operator(zuhura, FINANCE[0], PASSWORD)
        await log_in_as_operator(baraka, FINANCE[1], PASSWORD)
        await _import(zuhura, yesterday)

        await zuhura.get_by_role("link", name="Exceptions").first.click()
        rows = zuhura.locator("#exceptions tbody tr")
        await expect(rows).to_have_count(3)
        await _propose(zuhura, "QK55512345", "Set it aside until it is known whose it is")
        await expect(zuhura.locator("main")).to_contain_text("It is done.")
        await _propose(zuhura, "QK55512399", "It is a fee of the network")
        await _propose(zuhura, "QK55512400", "It went to the bank, or came from it")
        await expect(zuhura.locator("main")).to_contain_text("It is proposed.")

        await baraka.goto("/operator/exceptions?state=proposed")
        await baraka.get_by_label("Choose QK55512400").check()
        await baraka.get_by_role("button", name="Continue with those chosen").click()
        await expect(baraka.locator("main")).to_contain_text("Float at M-Pesa")
        await expect(baraka.locator("main")).to_contain_text("1,500,000")
        assert await baraka.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await baraka.get_by_role("button", name="Approve").click()
        await expect(baraka.locator("main")).to_contain_text("It is done.")

        await zuhura.goto(f"/operator/close/{yesterday.day}")
        await expect(zuhura.locator(".channel-close").first).to_contain_text("Explained")
        await zuhura.get_by_role("button", name="Close the day").click()
        await expect(zuhura.locator("main")).to_contain_text("The day is closed and signed.")
        await baraka.goto("/operator/close")
        await expect(baraka.locator("tbody tr")).to_have_count(1)


async def _import(page: Page, yesterday: Yesterday) -> None:
    await page.get_by_role("link", name="Statements").first.click()
    await page.get_by_role("link", name="Import a statement").first.click()
    await page.get_by_label("Network").select_option("MPESA")
    await page.get_by_label("File").set_input_files(yesterday.mpesa)
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("heading", name="The first lines, as they are read")).to_be_visible()
    await page.get_by_role("button", name="Import it").click()
    await expect(page.locator("main")).to_contain_text("The statement is imported.")


async def _propose(page: Page, receipt: str, words: str) -> None:
    await page.goto("/operator/exceptions")
    await page.locator("tr", has_text=receipt).get_by_role("link").click()
    await page.get_by_label(words).check()
    await page.get_by_label("What have you found out?").fill("As the network's support says, ticket 4711")
    await page.get_by_role("button", name="Propose it").click()
    await expect(page.locator(".notice").first).to_be_visible()

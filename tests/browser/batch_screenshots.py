"""The pictures of docs/batches.md: salaries that are fixed, and a batch that is approved on a phone. Run by scripts/screenshots.

With a folder as its argument it takes every page of batches, wide and narrow, light and dark, in both languages.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.async_api import Page, ViewportSize, async_playwright

from malipo.db import Database
from malipo.db.embedded import server
from malipo.db.migrate import migrate
from malipo.merchants.roles import Role
from tests.browser.batch_steps import send_file, write_salaries
from tests.browser.browser_window import NARROW, WIDE, Windows
from tests.conftest import make_merchant, starting, until_ready
from tests.dashboard.page_client import PASSWORD, add_person

_IMAGES = Path(__file__).parents[2] / "docs" / "images"
_OWNER, _CLERK = "neema@duka-la-mwaloni.example", "upendo@duka-la-mwaloni.example"
_MENDED = {
    "#phone-12": "0621 990 012",
    "#amount-47": "10,000",
    "#phone-200": "0754 990 020",
    "#amount-258": "5,257",
}
_Scheme = Literal["light", "dark"]
_LOOKS: tuple[tuple[str, ViewportSize, _Scheme, str], ...] = (
    ("wide-light", WIDE, "light", "en"),
    ("narrow-dark", NARROW, "dark", "en"),
    ("narrow-light-sw", NARROW, "light", "sw"),
    ("wide-dark-sw", WIDE, "dark", "sw"),
)


async def _take(url: str, salaries: Path, folder: Path | None) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--lang=en-GB"]
        )
        clerk = await Windows(browser).logged_in(url, _CLERK, PASSWORD)
        owner = await Windows(browser).logged_in(url, _OWNER, PASSWORD)
        async with clerk.open(reduced_motion="reduce") as page:
            await _look(page, folder, "new", f"{url}/dashboard/batches/new")
            await send_file(page, salaries)
            draft = page.url
            if folder is None:
                await page.screenshot(path=_IMAGES / "batch-lines.png")
            await _look(page, folder, "problems", draft)
            batch = await _submitted(page, folder, draft)
        async with owner.open(NARROW, reduced_motion="reduce") as page:
            await page.goto(f"{batch}/approve")
            if folder is None:
                await page.screenshot(path=_IMAGES / "batch-approval.png")
            await _look(page, folder, "approve", f"{batch}/approve")
            await _look(page, folder, "rules", f"{url}/dashboard/settings/approval")
            await page.goto(f"{batch}/approve")
            await page.locator("main form .button.primary").click()
            await page.wait_for_url(batch)
            await _look(page, folder, "running", batch)
            await _look(page, folder, "list", f"{url}/dashboard/batches")
        await browser.close()


async def _submitted(page: Page, folder: Path | None, draft: str) -> str:
    for where, what in _MENDED.items():
        await page.locator(where).fill(what)
    await page.locator("#channel-133").select_option("MPESA")
    await page.locator(".fixing .button.primary").click()
    await page.wait_for_url(draft)
    await _look(page, folder, "repaired", f"{draft}?show=repaired")
    await page.locator("#field-batchName").fill("Salaries November")
    await page.get_by_role("checkbox").check()
    await page.locator("#submit .button.primary").click()
    await page.wait_for_url("**/bat_*")
    await _look(page, folder, "awaits", page.url)
    return page.url


async def _look(page: Page, folder: Path | None, name: str, path: str) -> None:
    if folder is None:
        return
    for look, size, scheme, language in _LOOKS:
        await _speak(page, language)
        await page.set_viewport_size(size)
        await page.emulate_media(color_scheme=scheme)
        await page.goto(path)
        await page.screenshot(path=folder / f"batches-{name}-{look}.png", full_page=True)
    await _speak(page, "en")
    await page.set_viewport_size(WIDE)
    await page.goto(path)


async def _speak(page: Page, language: str) -> None:
    cookie = {"name": "malipo_language", "value": language, "domain": "127.0.0.1", "path": "/dashboard"}
    await page.context.add_cookies([cookie])  # type: ignore[list-item]


async def _main(postgres: str, folder: Path | None, scratch: Path) -> None:
    async with Database.opened(postgres, size=4) as database:
        await migrate(database)
        merchant = await make_merchant(database, wallet=4_000_000, name="Duka la Mwaloni, Mwanza")
        await add_person(database, merchant.id, _OWNER, name="Neema Massawe")
        await add_person(database, merchant.id, _CLERK, Role.STAFF, name="Upendo Shirima")
        with starting(scratch) as start:
            running = await until_ready(start("api", database_url=postgres))
            await _take(running.url, write_salaries(scratch / "salaries-november.xlsx"), folder)


if __name__ == "__main__":
    asked = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as scratch, server(Path(scratch) / "postgres") as postgres:
        asyncio.run(_main(postgres, asked, Path(scratch)))

"""The pictures in the documentation: a shop in Mwanza, after a month of payments. Run by scripts/screenshots.

With a folder as its argument it takes every main page, wide and narrow, light and dark, for whoever works on them.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from playwright.async_api import async_playwright

from malipo import clock
from malipo.accounts.store import new_place_alerts
from malipo.db import Database
from malipo.db.embedded import server
from malipo.db.migrate import migrate
from tests.authenticator_app import AuthenticatorApp, enrolled
from tests.browser.browser_window import NARROW, WIDE, Windows
from tests.browser.sample_trade import Shop
from tests.conftest import make_merchant, starting, until_ready
from tests.dashboard.page_client import PASSWORD, add_person

_IMAGES = Path(__file__).parents[2] / "docs" / "images"
_EMAIL = "neema@duka-la-mwaloni.example"
_PHONE = "Mozilla/5.0 (Linux; Android 13; Tecno) AppleWebKit/537 Chrome/120 Safari/537"
_PAGES = {"overview": "/dashboard", "transactions": "/dashboard/transactions", "wallet": "/dashboard/wallet"}
_MORE_PAGES = {
    "payout": "/dashboard/payout",
    "keys": "/dashboard/keys",
    "keys-new": "/dashboard/keys/new",
    "webhooks": "/dashboard/webhooks",
    "settings": "/dashboard/settings",
    "people": "/dashboard/settings/people",
    "second-factor-set-up": "/dashboard/settings/second-factor",
    "confirm": "/dashboard/confirm",
    "login": "/dashboard/login",
}
# Of somebody who has an authenticator app.
_ENROLLED = "baraka@duka-la-mwaloni.example"
_PAGES_WITH_APP = {
    "settings-with-app": "/dashboard/settings",
    "second-factor": "/dashboard/settings/second-factor",
    "second-factor-remove": "/dashboard/settings/second-factor/remove",
}


async def _take(url: str, payment: str, app: AuthenticatorApp, folder: Path | None) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--lang=en-GB"]
        )
        windows = await Windows(browser).logged_in(url, _EMAIL, PASSWORD)
        one = {"transaction": f"/dashboard/transactions/{payment}"}
        if folder is None:
            await _shoot(windows, "/dashboard", _IMAGES / "dashboard.png", is_wide=True)
            await _shoot(windows, "/dashboard/transactions#results", _IMAGES / "dashboard-phone.png", is_wide=False)
        else:
            for name, path in (_PAGES | one | _MORE_PAGES).items():
                for scheme in ("light", "dark"):
                    for is_wide in (True, False):
                        file = folder / f"{name}-{'wide' if is_wide else 'narrow'}-{scheme}.png"
                        await _shoot(windows, path, file, is_wide=is_wide, scheme=scheme, is_whole=True)
            await _take_second_factor(windows, app, folder)
        await browser.close()


async def _shoot(
    windows: Windows, path: str, file: Path, *, is_wide: bool, scheme: str = "light", is_whole: bool = False
) -> None:
    whose = windows.strange() if path == "/dashboard/login" else windows
    async with whose.open(WIDE if is_wide else NARROW, color_scheme=scheme, reduced_motion="reduce") as page:
        await page.goto(path)
        await page.screenshot(path=file, full_page=is_whole)


async def _take_second_factor(windows: Windows, app: AuthenticatorApp, folder: Path) -> None:
    """The code page, what follows it, and recovery codes, which are shown once."""
    for scheme in ("light", "dark"):
        for size, name in ((WIDE, f"wide-{scheme}"), (NARROW, f"narrow-{scheme}")):
            await app.wait()
            async with windows.strange().open(size, color_scheme=scheme, reduced_motion="reduce") as page:
                await page.goto("/dashboard/login")
                await page.get_by_label("Email").fill(_ENROLLED)
                await page.get_by_label("Password").fill(PASSWORD)
                await page.get_by_role("button", name="Log in").click()
                await page.screenshot(path=folder / f"login-code-{name}.png", full_page=True)
                await page.get_by_label("Code", exact=True).fill(app.code())
                await page.get_by_role("checkbox").check()
                await page.get_by_role("button", name="Log in", exact=True).click()
                await page.wait_for_url("**/dashboard")
                for what, path in _PAGES_WITH_APP.items():
                    await page.goto(path)
                    await page.screenshot(path=folder / f"{what}-{name}.png", full_page=True)
                await page.goto("/dashboard/settings/second-factor")
                await page.get_by_role("button", name="Make new recovery codes").click()
                await page.screenshot(path=folder / f"recovery-codes-{name}.png", full_page=True)


async def _main(postgres: str, folder: Path | None, scratch: Path) -> None:
    async with Database.opened(postgres, size=4) as database:
        await migrate(database)
        merchant = await make_merchant(database, wallet=2_400_000, name="Duka la Mwaloni, Mwanza")
        await add_person(database, merchant.id, _EMAIL, name="Neema Massawe")
        baraka = await add_person(database, merchant.id, _ENROLLED, name="Baraka Mushi")
        app = await enrolled(database, baraka.id)
        async with database.begin() as tx:
            await new_place_alerts.insert_alert(
                tx, "ses_0", baraka.id, address="196.41.7.20", user_agent=_PHONE, now=clock.now()
            )
        payment = await Shop(database, merchant).trade(clock.now())
        with starting(scratch) as start:
            running = await until_ready(start("api", database_url=postgres))
            await _take(running.url, payment, app, folder)


if __name__ == "__main__":
    asked = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as scratch, server(Path(scratch) / "postgres") as postgres:
        asyncio.run(_main(postgres, asked, Path(scratch)))

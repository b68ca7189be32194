"""Windows of a browser. Whatever a page complains about while one is open fails the test."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from playwright.async_api import Browser, ConsoleMessage, Page, ViewportSize, expect

WIDE: ViewportSize = {"width": 1280, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 844}

# A guard only: a busy machine may stop a browser for longer than its five seconds.
_PATIENCE_SECONDS = 60
expect.set_options(timeout=_PATIENCE_SECONDS * 1000)


@dataclass(frozen=True)
class Windows:
    browser: Browser
    url: str | None = None
    cookies: Any = None

    @asynccontextmanager
    async def open(self, size: ViewportSize = WIDE, **more: Any) -> AsyncIterator[Page]:
        """`more` is what playwright's new_context takes, as java_script_enabled."""
        context = await self.browser.new_context(
            viewport=size, base_url=self.url, storage_state=self.cookies, locale="en-GB", **more
        )
        context.set_default_timeout(_PATIENCE_SECONDS * 1000)
        page = await context.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.extend(_complaint(message, page)))
        try:
            yield page
        finally:
            await context.close()
        assert complaints == []

    def strange(self) -> "Windows":
        """Of somebody who is not logged in."""
        return replace(self, cookies=None)

    async def logged_in(self, url: str, email: str, password: str) -> "Windows":
        async with replace(self, url=url).open() as page:
            await log_in(page, email, password)
            return replace(self, url=url, cookies=await page.context.storage_state())


def _complaint(message: ConsoleMessage, page: Page) -> list[str]:
    """Browsers complain of a page that is itself a refusal. That is ours to show."""
    is_about_the_page = message.location["url"] == page.url and "status of 4" in message.text
    return [message.text] if message.type == "error" and not is_about_the_page else []


async def log_in(page: Page, email: str, password: str) -> None:
    """As people do it: they go where they want to be, and are asked who they are."""
    await page.goto("/dashboard")
    await page.get_by_label("Email").fill(email)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()


async def log_in_as_operator(page: Page, name: str, password: str) -> None:
    await page.goto("/operator")
    await page.get_by_label("Name").fill(name)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Log in").click()
    await expect(page).to_have_url(re.compile("/operator$"))


async def until_live(page: Page) -> None:
    """From now on whatever happens is seen by itself."""
    await expect(page.locator("[data-live-sign]").first).to_have_class(re.compile("is-on"))

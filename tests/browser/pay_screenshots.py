"""The pictures of docs/pay-pages.md: a customer of a dairy in Mwanza pays by a link. Run by scripts/screenshots.

With a folder as its argument it takes every scene of the pay page, wide and narrow, light and dark, in both languages,
and the poster.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw
from playwright.async_api import Browser, Page, StorageState, ViewportSize, async_playwright

from malipo import clock
from malipo.app.assemble import assemble
from malipo.db import Database
from malipo.db.embedded import server
from malipo.db.migrate import migrate
from malipo.links.link import Link
from malipo.merchants.change_public_profile import change_public_profile, set_logo
from malipo.merchants.public_profile import Contact
from malipo.networks.connector import FailureCode, Verdict
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Transaction
from malipo.settings import Settings
from malipo.table_files.pictures import read_logo
from tests.browser.browser_window import Windows
from tests.conftest import NO_LIMITS, NOBODY, make_merchant, starting, until_ready
from tests.links.link_steps import LinkSteps
from tests.receipts.log_stack import LogStack

_IMAGES = Path(__file__).parents[2] / "docs" / "images"
_PHONE: ViewportSize = {"width": 360, "height": 720}
_DESK: ViewportSize = {"width": 1280, "height": 900}
_Look = tuple[str, ViewportSize, str, str]
_LOOKS: tuple[_Look, ...] = (
    ("narrow-light-sw", _PHONE, "light", "sw"),
    ("narrow-dark-en", _PHONE, "dark", "en"),
    ("wide-light-en", _DESK, "light", "en"),
    ("wide-dark-sw", _DESK, "dark", "sw"),
)


async def _make_merchant(database: Database, scratch: Path) -> str:
    merchant = await make_merchant(database, name="Mwaloni Dairy Ltd")
    drawn = Image.new("RGB", (400, 200), "white")
    pen = ImageDraw.Draw(drawn)
    pen.ellipse((30, 20, 190, 180), fill="#0f6b57")
    pen.polygon([(90, 60), (130, 60), (140, 150), (80, 150)], fill="white")
    pen.text((215, 70), "MAZIWA", fill="#0f6b57", font_size=46)
    content = BytesIO()
    drawn.save(content, "PNG")
    (scratch / "logo").write_bytes(content.getvalue())
    logo = await asyncio.to_thread(read_logo, scratch / "logo")
    async with database.begin() as tx:
        now = clock.now()
        await set_logo(tx, merchant.id, logo.content, width=logo.width, height=logo.height, actor=NOBODY, now=now)
        await change_public_profile(
            tx,
            merchant.id,
            name="Maziwa ya Mwaloni",
            contact=Contact("+255754321000", "+255754321000", None),
            tin=None,
            actor=NOBODY,
            now=now,
        )
    return merchant.id


class _Scenes:
    """Brings a link into each scene for one browser, and shows it."""

    def __init__(self, steps: LinkSteps, browser: Browser, url: str, folder: Path | None, scratch: Path) -> None:
        self._steps, self._browser, self._url, self._folder = steps, browser, url, folder
        self._scratch = scratch
        self._begun: dict[tuple[str, str], StorageState] = {}  # the cookies of who has pressed, by link and number

    async def take_all(self) -> None:
        link = await self._steps.make(amount=25_000, description="Lita 10 za maziwa", orderReference="A-1042")
        await self._take("form", link)
        await self._take("form-open", await self._steps.make(amount=None, description="Mchango wa harusi"))
        await self._take("mistakes", link, act=self._press, phone="0754 00")
        await self._take("waiting", link, act=self._press)
        payment = (await self._steps.payments())[-1]
        await self._steps.claim()
        await self._steps.report(payment, Verdict.WAITING, AnswerSource.SEND)
        await self._take("asked", link, act=self._press)
        await self._take("busy", link, act=self._press, phone="0713 000 200")
        await self._steps.end_prompts()
        await self._take("in-doubt", link, act=self._press)
        await self._take("doubt-other", link, act=self._press, phone="0713 000 200")
        await self._steps.report(payment, Verdict.REFUSED, failure_code=FailureCode.INSUFFICIENT_FUNDS)
        await self._end("not-paid", FailureCode.DECLINED)
        await self._end("paid", None)
        link = await self._steps.make()
        await self._steps.expire(link)
        await self._take("expired", link)
        await self._take("unknown", None)

    async def _end(self, name: str, code: FailureCode | None) -> None:
        for look in _LOOKS:
            link = await self._steps.make(description="Lita 10 za maziwa", returnUrl="https://maziwa.example/asante")
            async with self._window(look) as page:
                await self._press(page, link, look[3], "0754 321 123" if code is None else "0754 321 124")
                payment = (await self._steps.payments())[-1]
                await self._steps.claim()
                verdict = Verdict.CONFIRMED if code is None else Verdict.REFUSED
                more = {"provider_reference": "QK10183346"} if code is None else {"failure_code": code}
                await self._steps.report(payment, verdict, AnswerSource.SEND, **more)
                await page.goto(f"/pay/{link.code}?lang={look[3]}")
                await self._shoot(page, name, look)
                if code is None:
                    await self._receipt(page, payment, look)
                    await self._steps.contradict(payment, Verdict.REFUSED)
                    await page.goto(f"/pay/{link.code}?lang={look[3]}")
                    await self._shoot(page, "taken-back", look)
            await self._leave_numbers_in_peace()

    async def _receipt(self, page: Page, payment: Transaction, look: _Look) -> None:
        stack = LogStack(self._steps, self._scratch)
        await page.locator('a[href^="/receipt/"]').click()
        await page.wait_for_load_state()
        await page.goto(f"{page.url}?lang={look[3]}")
        await self._shoot(page, "receipt-without-proof", look)
        await stack.number()
        await stack.sign()
        await page.reload()
        await self._shoot(page, "receipt", look)

    async def _leave_numbers_in_peace(self) -> None:
        """What was pressed counts no longer."""
        async with self._steps.database.begin() as tx:
            await tx.execute("UPDATE link_attempts SET pressed_at = pressed_at - interval '4 days'")
            earlier = ", ".join(
                f"{each} = {each} - interval '4 days'" for each in ("created_at", "processing_at", "ended_at")
            )
            await tx.execute(f"UPDATE transactions SET {earlier}")

    def _window(self, look: _Look, cookies: StorageState | None = None) -> AbstractAsyncContextManager[Page]:
        windows = Windows(self._browser, self._url, cookies)
        return windows.open(look[1], color_scheme=look[2], reduced_motion="reduce")

    async def _take(
        self,
        name: str,
        link: Link | None,
        *,
        act: Callable[[Page, Link, str, str], Awaitable[None]] | None = None,
        phone: str = "0754 000 100",
    ) -> None:
        for look in _LOOKS:
            begun = None if link is None else self._begun.get((link.id, phone))
            async with self._window(look, begun) as page:
                if act is None or link is None or begun is not None:
                    await page.goto(f"/pay/{link.code if link else '0' * 16}?lang={look[3]}")
                else:
                    await act(page, link, look[3], phone)
                    if (state := await page.context.storage_state()).get("cookies"):
                        self._begun[link.id, phone] = state
                await self._shoot(page, name, look)
        if link is not None and name == "form" and self._folder is not None:
            async with self._window(_LOOKS[2]) as page:
                await page.goto(f"/pay/{link.code}/poster")
                await page.screenshot(path=self._folder / "pay-poster.png", full_page=True)

    async def _press(self, page: Page, link: Link, language: str, phone: str) -> None:
        await page.goto(f"/pay/{link.code}?lang={language}")
        if await page.locator("summary").count():
            await page.locator("summary").click()
        await page.locator("#phone").fill(phone)
        await page.locator("form[data-nets] button").click()
        await page.wait_for_load_state()

    async def _shoot(self, page: Page, name: str, look: _Look) -> None:
        if self._folder is not None:
            await page.screenshot(path=self._folder / f"pay-{name}-{look[0]}.png", full_page=True)
        elif look is _LOOKS[0] and name in ("form", "asked"):
            await page.screenshot(path=_IMAGES / f"pay-page-{name}.png")


async def _main(postgres: str, folder: Path | None, scratch: Path) -> None:
    async with Database.opened(postgres, size=4) as database:
        await migrate(database)
        service = assemble(Settings(**NO_LIMITS), database)
        steps = LinkSteps(service, await _make_merchant(database, scratch))
        with starting(scratch) as start:
            running = await until_ready(
                start("api", database_url=postgres, receipt_log="private", receipt_log_name="pay.example.com/log")
            )
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(
                    executable_path="/usr/bin/chromium", args=["--no-sandbox", "--lang=en-GB"]
                )
                await _Scenes(steps, browser, running.url, folder, scratch).take_all()
                await browser.close()
        await service.finish()


if __name__ == "__main__":
    asked = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as temporary, server(Path(temporary) / "postgres") as database_url:
        asyncio.run(_main(database_url, asked, Path(temporary)))

"""The pictures of reconciliation in the documentation, and of the books. Run by scripts/screenshots.

With a folder as its argument it takes every page of it, wide and narrow, light and dark, in both languages.
"""

import asyncio
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

from msgspec.structs import replace
from playwright.async_api import Page, ViewportSize, async_playwright

from malipo import clock, ids
from malipo.db import Database
from malipo.db.embedded import server
from malipo.db.migrate import migrate
from malipo.invoices.invoice import FeeKind, InvoiceKind, InvoiceLine, Party
from malipo.networks.connector import Answer, Channel, FailureCode, Resubmit, Verdict
from malipo.payments.apply_network_answers import AnswerToApply, ApplyNetworkAnswers
from malipo.payments.dispatch import AnswerSource, QueryRules, ReceivedAnswer
from malipo.settings import Settings
from tests.browser.browser_window import NARROW, WIDE, Windows, log_in_as_operator
from tests.browser.sample_statements import FINANCE, PASSWORD, Yesterday, at_work
from tests.invoices.sample import store_invoice
from tests.ledger.suspense_bookings import in_suspense, released

_IMAGES = Path(__file__).parents[2] / "docs" / "images"
_LOOKS: list[tuple[str, ViewportSize, str, str]] = [
    ("wide-light-en", WIDE, "light", "en"),
    ("wide-dark-sw", WIDE, "dark", "sw"),
    ("narrow-light-sw", NARROW, "light", "sw"),
    ("narrow-dark-en", NARROW, "dark", "en"),
]
_UNKNOWN = "Tarehe ya date,Namba txn,Kiasi amount,Aina entry\n2026-11-01 10:00,K1,5000,Mapato\n2026-11-01 11:00,K2,1200,Malipo\n"


async def _take(database: Database, yesterday: Yesterday, folder: Path | None) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--lang=en-GB"]
        )
        windows = Windows(browser, url=yesterday.url)
        async with windows.open(reduced_motion="reduce") as page:
            await log_in_as_operator(page, FINANCE[0], PASSWORD)
            await _walk(page, yesterday, folder)
            if folder is not None:
                await _books(page, database, yesterday, folder)
        await browser.close()


async def _walk(page: Page, yesterday: Yesterday, folder: Path | None) -> None:
    """As finance goes through a day."""
    unknown = yesterday.mpesa.with_name("isiyojulikana.csv")
    unknown.write_text(_UNKNOWN)
    await _send(page, unknown)
    await _look(page, folder, "mapper", page.url)
    await _look(page, folder, "new-statement", "/operator/statements/new")
    await _send(page, yesterday.mpesa)
    await _look(page, folder, "preview", page.url)
    await page.get_by_role("button", name="Import it").click()
    await _look(page, folder, "statement", page.url)
    await _look(page, folder, "statements", "/operator/statements")
    await page.goto("/operator/exceptions")
    if folder is None:
        await page.screenshot(path=_IMAGES / "exceptions.png")
    await _look(page, folder, "exceptions", "/operator/exceptions")
    link = await page.locator("tr", has_text="QK55512345").get_by_role("link").get_attribute("href")
    await _look(page, folder, "exception", link or "")
    await page.goto("/operator/exceptions")
    for box in await page.get_by_role("checkbox").all():
        await box.check()
    await page.get_by_role("button", name="Continue with those chosen").click()
    await _look(page, folder, "chosen", page.url)
    await _look(page, folder, "floats", "/operator/floats")
    await page.goto(f"/operator/close/{yesterday.day}")
    if folder is None:
        await page.screenshot(path=_IMAGES / "daily-close.png")
    await _look(page, folder, "close-day", f"/operator/close/{yesterday.day}")
    await _look(page, folder, "close-first", "/operator/close")
    await page.goto(f"/operator/close/{yesterday.day}")
    await page.get_by_role("button", name="Close the day").click()
    await _look(page, folder, "close-closed", f"/operator/close/{yesterday.day}")
    await _look(page, folder, "close-print", f"/operator/close/{yesterday.day}/print")
    await _look(page, folder, "close", "/operator/close")
    await _look(page, folder, "audit", "/operator/audit")
    for name in ("merchants", "bookings/history", "operators"):
        await _look(page, folder, name.replace("/", "-"), f"/operator/{name}")
    await page.goto("/operator/merchants")
    link = await page.locator("td.is-title").first.get_by_role("link").get_attribute("href")
    await _look(page, folder, "merchant", link or "")
    await _look(page, folder, "merchant-payments", f"{link}/payments")


async def _books(page: Page, database: Database, yesterday: Yesterday, folder: Path) -> None:
    """What an accountant looks at when the day is closed, and a case with a file."""
    case = await _something_to_account_for(database, yesterday)
    for name in ("trial balance", "safeguarding", "suspense", "invoices"):
        path = f"?from={yesterday.day}&to={yesterday.day}" if name == "trial balance" else f"/{name}"
        await _look(page, folder, f"books-{name.replace(' ', '-')}", f"/operator/books{path}")
    await _look(page, folder, "books-month", f"/operator/books/month?month={yesterday.day:%Y-%m}")
    await _look(page, folder, "cases", "/operator")
    letter = yesterday.mpesa.with_name("barua-ya-vodacom.pdf")
    letter.write_bytes(b"%PDF-1.4 the network's letter")
    await page.goto(f"/operator/cases/{case}")
    await page.locator("input[type=file]").set_input_files(letter)
    await page.locator("form[action$='/attach'] button").click()
    await page.locator("#field-owner").select_option(FINANCE[0])
    await page.get_by_label("Due on").fill(str(clock.day_of(clock.now())))
    await page.locator("form[action$='/assign'] button").click()
    await _look(page, folder, "case-with-a-file", f"/operator/cases/{case}")
    await _look(page, folder, "waiting", "/operator/waiting")


async def _something_to_account_for(database: Database, yesterday: Yesterday) -> str:
    """Invoices, suspense, and a payment of which its network has said two things. Returns the payment."""
    for amount, days in ((12_500, 40), (300_000, 9)):
        await in_suspense(database, amount, days_ago=days)
    async with database.begin() as tx:
        row = await tx.fetchrow(
            "SELECT merchant_id, id, network_key FROM transactions "
            "WHERE status = 'COMPLETED' AND type = 'COLLECTION' AND channel = 'MPESA' ORDER BY id LIMIT 1"
        )
        assert row is not None
        merchant_id = str(row["merchant_id"])
        month = (yesterday.day.replace(day=1) - timedelta(days=1)).replace(day=1)
        buyer = Party(name="Duka la Mwaloni Ltd", tin="987654321")
        seller = Party(name="Malipo Ltd")
        line = InvoiceLine(fee=FeeKind.COLLECTION, count=1_204, gross=236_000, rate=0)
        of = {"month": month, "buyer": buyer, "seller": seller, "lines": (line,)}
        invoice = await store_invoice(tx, row["merchant_id"], **of)
        lines = (replace(line, count=1, gross=1_180, is_given_back=True),)
        note = {"lines": lines, "kind": InvoiceKind.CREDIT_NOTE, "corrects": invoice.number}
        await store_invoice(tx, row["merchant_id"], **of | note)
        answer = Answer(verdict=Verdict.REFUSED, provider_reference=None, failure_code=FailureCode.DECLINED)
        said = ReceivedAnswer(
            connector="mpesa", source=AnswerSource.CALLBACK, answer=answer, resubmit=Resubmit.DUPLICATES_REFUSED
        )
        id_ = ids.mint("hrg_", clock.now())
        report = AnswerToApply(id=id_, channels=[Channel.MPESA], key=row["network_key"], received=said)
        await ApplyNetworkAnswers(clock=clock.now, rules=QueryRules.of(Settings()))(tx, [report], again=False)
    await released(database, merchant_id, 45_000)
    return str(row["id"])


async def _send(page: Page, file: Path) -> None:
    await page.goto("/operator/statements/new")
    await page.get_by_label("Network").select_option("MPESA")
    await page.get_by_label("File").set_input_files(file)
    await page.get_by_role("button", name="Continue").click()
    await page.wait_for_url("**/upl_*")


async def _look(page: Page, folder: Path | None, name: str, path: str) -> None:
    if folder is None:
        return
    for look, size, scheme, language in _LOOKS:
        await page.context.add_cookies(
            [{"name": "malipo_language", "value": language, "domain": "127.0.0.1", "path": "/operator"}]
        )
        await page.set_viewport_size(size)
        await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        await page.goto(path)
        await page.screenshot(path=folder / f"{name}-{look}.png", full_page=True)
    await page.context.add_cookies(
        [{"name": "malipo_language", "value": "en", "domain": "127.0.0.1", "path": "/operator"}]
    )
    await page.set_viewport_size(WIDE)
    await page.goto(path)


async def _main(postgres: str, folder: Path | None, scratch: Path) -> None:
    async with Database.opened(postgres, size=4) as database:
        await migrate(database)
        async with at_work(database, postgres, scratch) as yesterday:
            await _take(database, yesterday, folder)


if __name__ == "__main__":
    asked = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as scratch, server(Path(scratch) / "postgres") as postgres:
        asyncio.run(_main(postgres, asked, Path(scratch)))

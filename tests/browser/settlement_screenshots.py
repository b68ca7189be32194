"""The pictures of settlements in the documentation: a shop withdraws to its bank, and operators pay it. Run by
scripts/screenshots.

With a folder as its argument it takes every page of it, wide and narrow, light and dark, in both languages.
"""

import asyncio
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

from playwright.async_api import Page, ViewportSize, async_playwright

from malipo import clock, ids
from malipo.accounts.tokens import hash_of, make_secret
from malipo.app.assemble import assemble
from malipo.audit_log.actor import Actor, operator_at
from malipo.db import Database
from malipo.db.embedded import server
from malipo.db.migrate import migrate
from malipo.http.accept_language import Language
from malipo.mail.letter import LetterLink, letter_of
from malipo.merchants.store import bank_account_stop_links
from malipo.merchants.store.bank_account_stop_links import StopLink
from malipo.messages.kinds import KINDS, Audience, MessageKind
from malipo.messages.message import Message, MessageRecipient
from malipo.messages.notify_of_bank_accounts import NamedBankAccount
from malipo.operators import store as operators
from malipo.settings import Settings
from malipo.settlement import manage_bank_accounts
from malipo.settlement.run_schedules import set_schedule
from malipo.settlement.schedule import Every, Schedule
from malipo.settlement.store import bank_accounts
from malipo_simulator.bank.bank import Bank
from malipo_simulator.bank.statement_formats import FORMATS
from tests.authenticator_app import enrolled
from tests.bank.bank_desk import BankDesk, open_account
from tests.browser.browser_window import WIDE, Windows, log_in_as_operator
from tests.browser.sample_trade import Shop
from tests.cheap_hash import cheap_hash
from tests.conftest import make_merchant, starting, until_ready
from tests.dashboard.conftest import OPTIONAL
from tests.dashboard.page_client import PASSWORD, add_person
from tests.operators.booking_steps import ASHA
from tests.settlement.act_subjects import unverified
from tests.settlement.settlement_steps import add_account

_IMAGES = Path(__file__).parents[2] / "docs" / "images"
_PHONE: ViewportSize = {"width": 360, "height": 780}
_LOOKS: list[tuple[str, ViewportSize, str, str]] = [
    ("wide-light-en", WIDE, "light", "en"),
    ("wide-dark-sw", WIDE, "dark", "sw"),
    ("narrow-light-sw", _PHONE, "light", "sw"),
    ("narrow-dark-en", _PHONE, "dark", "en"),
]
_EMAIL = "neema@duka-la-mwaloni.example"
_OPERATORS = ("zuhura", "baraka")


async def _merchant(page: Page, desk: BankDesk, folder: Path | None, ids_: dict[str, str]) -> None:
    """An owner withdraws, and looks at what became of the settlements before."""
    await _look(page, folder, "settlements", "/dashboard/settlements")
    await _look(page, folder, "wallet", "/dashboard/wallet")
    for name, id_ in ids_.items():
        await _look(page, folder, f"settlement-{name}", f"/dashboard/settlements/{id_}")
    await _look(page, folder, "settlement-cancel", f"/dashboard/settlements/{ids_['waiting']}/cancel")
    await _look(page, folder, "schedule", "/dashboard/settlements/schedule")
    await _look(page, folder, "bank-accounts", "/dashboard/bank-accounts")
    await _look(page, folder, "bank-account-new", "/dashboard/bank-accounts/new")
    await _look(page, folder, "withdraw", "/dashboard/settlements/new")
    for size, name in ((WIDE, "wide"), (_PHONE, "narrow")):
        await page.set_viewport_size(size)
        await page.goto("/dashboard/settlements/new")
        await page.get_by_label("Amount").fill("750,000")
        await page.get_by_role("button", name="Continue").click()
        if folder is not None:
            await page.screenshot(path=folder / f"withdraw-confirm-{name}.png", full_page=True)
        elif size is _PHONE:
            await page.screenshot(path=_IMAGES / "withdraw-phone.png")
    await page.set_viewport_size(WIDE)
    if folder is None:
        await page.set_viewport_size({"width": 1280, "height": 1300})
        await page.goto(f"/dashboard/settlements/{ids_['paid']}")
        await page.screenshot(path=_IMAGES / "settlement-report.png")


async def _operators(page: Page, desk: BankDesk, folder: Path | None, ids_: dict[str, str]) -> None:
    """An operator looks at what another one has gathered, and imports a statement."""
    await _look(page, folder, "op-settlements", "/operator/settlements")
    await _look(page, folder, "op-settlement", f"/operator/settlements/{ids_['paid']}")
    await _look(page, folder, "op-accounts", "/operator/bank-accounts")
    await page.goto("/operator/bank-accounts")
    link = await page.locator("td.is-title a").first.get_attribute("href")
    await _look(page, folder, "op-account", link or "")
    await _look(page, folder, "op-bank", "/operator/bank")
    await _look(page, folder, "op-files", "/operator/bank/files")
    await page.goto("/operator/bank/files")
    link = await page.locator("td.is-title a").first.get_attribute("href")
    if folder is None:
        await page.goto(link or "")
        await page.screenshot(path=_IMAGES / "payout-file.png")
    await _look(page, folder, "op-file", link or "")
    link = await page.locator("td.is-title a").last.get_attribute("href")
    await page.goto("/operator/bank/files")
    link = await page.locator("td.is-title a").last.get_attribute("href")
    await _look(page, folder, "op-file-approved", link or "")
    await _look(page, folder, "op-statements", "/operator/bank/statements")
    await page.goto("/operator/bank/statements")
    link = await page.locator("td.is-title a").first.get_attribute("href")
    await _look(page, folder, "op-statement", link or "")
    await page.goto("/operator/bank/exceptions")
    link = await page.locator("td.is-title a").first.get_attribute("href")
    await page.goto(link or "")
    await page.locator("#field-owner").select_option(index=1)
    await page.get_by_label("Due on").fill(str(clock.day_of(clock.now())))
    await page.locator("form[action$='/assign'] button").click()
    await page.wait_for_url("**#casework")
    await _look(page, folder, "op-line", link or "")
    await _look(page, folder, "op-lines", "/operator/bank/exceptions")
    await _look(page, folder, "op-waiting", "/operator/waiting")
    await _look(page, folder, "op-new-statement", "/operator/bank/statements/new")
    desk.move(1_000_000, "TOPUP-9", "Till deposit")
    file = desk.folder / "taarifa-ya-leo.sta"
    file.write_bytes(FORMATS["mt940"][1](desk.bank, desk.today, desk.today))
    await page.goto("/operator/bank/statements/new")
    await page.get_by_label("File").set_input_files(file)
    await page.get_by_role("button", name="Continue").click()
    await page.wait_for_url("**/upl_*")
    await _look(page, folder, "op-preview", page.url)


async def _stopped(page: Page, folder: Path | None, desk: BankDesk, ids_: dict[str, str]) -> None:
    """The owner has stopped the account, and what they see then."""
    await _look(page, folder, "bank-account-stop", f"/dashboard/bank-accounts/{desk.account.id}/stop")
    async with desk.database.begin() as tx:
        await manage_bank_accounts.stop(tx, desk.account.id, actor=Actor(_EMAIL, "10.0.0.1"), now=desk.now)
    await _look(page, folder, "bank-accounts-stopped", "/dashboard/bank-accounts")
    await _look(page, folder, "withdraw-stopped", "/dashboard/settlements/new")
    for name, id_ in ids_.items():
        await _look(page, folder, f"settlement-{name}-stopped", f"/dashboard/settlements/{id_}")


async def _stopped_by_link(page: Page, folder: Path, desk: BankDesk, now: datetime) -> None:
    """The page to which the link of a notice leads, before and after the press, and when the link was used."""
    link = make_secret("msl_")
    async with desk.database.begin() as tx:
        [account] = [each for each in await bank_accounts.find_of(tx, desk.merchant.id) if each.bic == "NMIBTZTZ"]
        stop = StopLink(desk.merchant.id, account.id, _EMAIL, "Neema Massawe")
        message = await tx.fetchval("SELECT id FROM messages ORDER BY id LIMIT 1")
        await bank_account_stop_links.insert(
            tx, hash_of(link), stop, message_id=message, now=now, expires_at=now + timedelta(days=30)
        )
    path = f"/dashboard/stop?token={link}"
    await _look(page, folder, "stop-link", path)
    for size, language in ((_PHONE, "sw"), (WIDE, "en")):
        await _speak(page, language)
        await page.set_viewport_size(size)
        if language == "sw":
            await page.goto(path)
            await page.get_by_role("button", name="Simamisha").click()
        else:
            await page.goto(path)
        await page.screenshot(path=folder / f"stop-link-{'done' if language == 'sw' else 'used'}.png", full_page=True)


async def _stopped_for_operators(page: Page, folder: Path | None, desk: BankDesk) -> None:
    await _look(page, folder, "op-waiting-stopped", "/operator/waiting")
    await _look(page, folder, "op-account-stopped", f"/operator/bank-accounts/{desk.account.id}")
    async with desk.database.read() as connection:
        file = await connection.fetchval("SELECT id FROM payout_files WHERE looks IS NULL AND status = 'APPROVED'")
    await _look(page, folder, "op-file-stopped", f"/operator/bank/files/{file}")


async def _mails(page: Page, folder: Path | None, now: datetime) -> None:
    """The e-mails about bank accounts and settlements: as HTML, and as the text of who reads no HTML."""
    if folder is None:
        return
    facts = NamedBankAccount("bka_1", "CRDB Bank", "0150442189100", "Duka la Mwaloni Ltd").facts | {
        "by": _EMAIL,
        "happened_at": now.isoformat(),
        "usable_at": (now + timedelta(hours=72)).isoformat(),
        "path": "/dashboard/settlements/stl_1",
        "reference": "MLP-1M5A2K0V61G9JFE",
        "amount": 850_000,
        "reason": "AC04 account closed",
        "merchant": "Duka la Mwaloni, Mwanza",
        "sent_amount": 400_000,
        "paid_amount": 850_000,
        "files": "pfl_01m59kb80v1ch86w2evrpjcbxp",
    }
    for kind in (
        MessageKind.BANK_ACCOUNT_ADDED,
        MessageKind.BANK_ACCOUNT_VERIFIED,
        MessageKind.BANK_ACCOUNT_STOPPED,
        MessageKind.SETTLEMENT_COMPLETED,
        MessageKind.SETTLEMENT_RETURNED,
        MessageKind.STOPPED_ACCOUNT_IN_FILE,
        MessageKind.PROPOSAL_WAITING,
    ):
        merchant_id = None if KINDS[kind].audience is Audience.OPERATORS else "mer_1"
        for look, size, scheme, language in _LOOKS:
            person = MessageRecipient("per_1", _EMAIL, "Neema Massawe", Language(language))
            message = Message("msg_1", kind, merchant_id, person, facts, 1, 0, now, now, "msg_1@duka.example", 0)
            link = LetterLink(
                "https://pay.example.co.tz/dashboard/stop?token=AbCdEfGhIjKlMnOpQrStUv", now + timedelta(days=30)
            )
            letter = letter_of(
                message,
                Language(language),
                service="Malipo",
                public_url="https://pay.example.co.tz",
                link=link if KINDS[kind].link else None,
            )
            (folder / f"mail-{kind}-{language}.txt").write_text(f"Subject: {letter.subject}\n\n{letter.text}")
            await page.set_viewport_size(size)
            await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            await page.set_content(letter.html)
            await page.screenshot(path=folder / f"mail-{kind}-{look}.png", full_page=True)


async def _look(page: Page, folder: Path | None, name: str, path: str) -> None:
    if folder is None:
        return
    for look, size, scheme, language in _LOOKS:
        await _speak(page, language)
        await page.set_viewport_size(size)
        await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        await page.goto(path)
        width = await page.evaluate("document.documentElement.scrollWidth")
        if width > size["width"]:
            print(f"{name} {look}: {width} px wide")
        await page.screenshot(path=folder / f"{name}-{look}.png", full_page=True)
    await _speak(page, "en")
    await page.emulate_media(color_scheme="light")
    await page.set_viewport_size(WIDE)
    await page.goto(path)


async def _speak(page: Page, language: str) -> None:
    await page.context.add_cookies(
        [
            {"name": "malipo_language", "value": language, "domain": "127.0.0.1", "path": path}
            for path in ("/operator", "/dashboard")
        ]
    )


async def _settlements(desk: BankDesk, now: datetime) -> dict[str, str]:
    """One that came back, one that was paid, one at the bank and one that waits; and a line that nobody knows."""
    desk.at = _last_week(now)
    paid, returned = await desk.requested(850_000, orderReference="W46"), await desk.requested(300_000)
    await _send(desk)
    desk.move(300_000, "RET-4", "AC04 account closed", key=returned.key)
    desk.move(-2_500, "CHG-11", "Ledger fee November")
    await desk.bring(desk.today)
    desk.at = now - timedelta(hours=3)
    sent = await desk.requested(400_000)
    await _send(desk, hand_in=False)
    desk.at = now
    waiting = await desk.requested(150_000)
    await desk.gather(ASHA)
    last = await desk.requested(120_000)
    return {"returned": returned.id, "paid": paid.id, "sent": sent.id, "in-file": waiting.id, "waiting": last.id}


async def _in_its_waiting_time(database: Database, merchant_id: str, now: datetime) -> None:
    account = await add_account(
        database, merchant_id, now=now - timedelta(days=2), number="22310048123", bic="NMIBTZTZ"
    )
    async with database.begin() as tx:
        await bank_accounts.verify(tx, account, now=now - timedelta(hours=30), usable_from=now + timedelta(hours=42))


def _last_week(now: datetime) -> datetime:
    """A business day, after the trade of the sample."""
    return now - timedelta(days=7 + max(now.weekday() - 4, 0))


async def _send(desk: BankDesk, *, hand_in: bool = True) -> None:
    gathered = await desk.gather(operator_at("zuhura", "till"))
    await desk.approve(gathered.file.id, operator_at("baraka", "till"))
    if hand_in:
        await desk.hand_in(gathered.file.id)


async def _main(postgres: str, folder: Path | None, scratch: Path) -> None:
    now = clock.now()
    async with Database.opened(postgres, size=4) as database:
        await migrate(database)
        merchant = await make_merchant(database, wallet=2_400_000, name="Duka la Mwaloni, Mwanza")
        owner = await add_person(database, merchant.id, _EMAIL, name="Neema Massawe")
        await Shop(database, merchant).trade(_last_week(now) - timedelta(hours=1))
        async with database.begin() as tx:
            for name in (*_OPERATORS, "asha", "juma"):
                id_ = ids.mint("opr_", now)
                assert await operators.insert_operator(tx, id_, name, now=now)
                await operators.set_password(tx, id_, cheap_hash())
            schedule = Schedule(
                merchant_id=merchant.id,
                every=Every.WEEK,
                on_day=5,
                minimum=50_000,
                keep=200_000,
                changed_at=now,
                changed_by=_EMAIL,
            )
            await set_schedule(tx, schedule, actor=operator_at("zuhura", "till"))
        account = await add_account(database, merchant.id, now=now - timedelta(days=60), number="0150442189100")
        await open_account(database)
        service = assemble(Settings(), database)
        desk = BankDesk(service, database, merchant, account, scratch, Bank())
        ids_ = await _settlements(desk, now)
        await unverified(database, merchant.id)
        await _in_its_waiting_time(database, merchant.id, now)
        with starting(scratch) as start:
            running = await until_ready(start("api", database_url=postgres, **OPTIONAL))
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(
                    executable_path="/usr/bin/chromium", args=["--no-sandbox", "--lang=en-GB"]
                )
                windows = await Windows(browser).logged_in(running.url, _EMAIL, PASSWORD)
                await enrolled(database, owner.id)
                async with windows.open(reduced_motion="reduce") as page:
                    await _merchant(page, desk, folder, ids_)
                async with Windows(browser, url=running.url).open(reduced_motion="reduce") as page:
                    await log_in_as_operator(page, "baraka", PASSWORD)
                    await _operators(page, desk, folder, ids_)
                if folder is not None:
                    async with windows.open(reduced_motion="reduce") as page:
                        await _stopped(page, folder, desk, ids_)
                    async with Windows(browser, url=running.url).open(reduced_motion="reduce") as page:
                        await _stopped_by_link(page, folder, desk, now)
                    async with Windows(browser, url=running.url).open(reduced_motion="reduce") as page:
                        await log_in_as_operator(page, "baraka", PASSWORD)
                        await _stopped_for_operators(page, folder, desk)
                    await _mails(await browser.new_page(), folder, now)
                await browser.close()
        await service.finish()


if __name__ == "__main__":
    asked = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as scratch, server(Path(scratch) / "postgres") as postgres:
        asyncio.run(_main(postgres, asked, Path(scratch)))

"""Payday: the office sends a spreadsheet with mistakes, fixes it and submits it; the owner approves it on a telephone."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from malipo.dashboard.language import Translator
from malipo.http.accept_language import Language
from tests.browser.batch_steps import choose_password, confirm_if_asked, send_file, write_salaries
from tests.browser.browser_window import NARROW, Windows, log_in, until_live
from tests.browser.untranslated import english_in
from tests.browser.user_steps import invite

EMAIL, PASSWORD = "karani@malipo.example", "pamba la Mwanza 9"
COUNT = 300
sw = Translator(Language.KISWAHILI)


@pytest.mark.slow
async def test_three_hundred_salaries_with_five_mistakes_are_fixed_approved_on_a_phone_and_paid(
    demo: dict[str, Any], windows: Windows, tmp_path: Path
) -> None:
    async with windows.open() as owner:
        link = await invite(owner, EMAIL, "Staff")
    async with windows.strange().open() as office, windows.open(NARROW) as phone:
        await choose_password(office, link, PASSWORD)
        await log_in(office, EMAIL, PASSWORD)
        await office.get_by_role("button", name="Kiswahili").first.click()
        await expect(office.locator("html")).to_have_attribute("lang", "sw")

        await send_file(office, write_salaries(tmp_path / "mishahara.xlsx", COUNT))
        await _fix(office)
        await _submit(office)
        batch = office.url.rpartition("/")[2]
        await until_live(office)

        await _approve_on_the_phone(phone, batch, demo["password"])

        done = sw("{done} of {count} paid", done=COUNT, count=COUNT)
        await expect(office.locator("#progress")).to_contain_text(done, timeout=120_000)
        await expect(office.locator("#state")).to_contain_text(sw("Finished"))
        assert await english_in(office) == []
        await _check_results(office)


async def _fix(page: Page) -> None:
    """Five lines, each with what is wrong beside it; the file is not sent again."""
    await expect(page.locator(".fix")).to_have_count(5)
    await expect(page.locator("#row-200")).to_contain_text("7.54E+08")
    assert await english_in(page) == []
    await page.locator("#phone-12").fill("0621 990 012")
    await page.locator("#amount-47").fill("10,000")
    await page.locator("#channel-133").select_option("MPESA")
    await page.locator("#phone-200").fill("0754 990 020")
    await page.locator("#amount-258").fill("5257")
    await page.get_by_role("button", name=sw("Save")).click()
    await expect(page.locator(".fix")).to_have_count(0)


async def _submit(page: Page) -> None:
    await page.locator("#field-batchName").fill("Mishahara ya Novemba")
    await page.get_by_role("checkbox").check()
    await page.get_by_role("button", name=sw("Submit {count} payouts", count=COUNT)).click()
    await page.wait_for_url("**/batches/bat_*")
    await expect(page.locator("#state")).to_contain_text(sw("Awaits approval"))
    await expect(page.get_by_role("link", name=sw("Approve…"))).to_have_count(0)
    assert await english_in(page) == []


async def _approve_on_the_phone(phone: Page, batch: str, password: str) -> None:
    await phone.goto("/dashboard/batches")
    await phone.get_by_role("link", name="Mishahara ya Novemba").click()
    await phone.get_by_role("link", name="Approve…").click()
    await confirm_if_asked(phone, password)
    await expect(phone.locator(".meant")).to_contain_text("300 payouts")
    # Nothing is cut off or has to be pushed sideways.
    assert await phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await phone.get_by_role("button", name="Yes, pay it out").click()
    await expect(phone).to_have_url(re.compile(f"/dashboard/batches/{batch}$"))
    await expect(phone.get_by_role("status").first).to_contain_text("It is approved.")


async def _check_results(page: Page) -> None:
    async with page.expect_download() as download:
        await page.get_by_role("link", name=sw("Download the results")).click()
    rows = list(csv.DictReader((await (await download.value).path()).read_text().splitlines()))
    assert len(rows) == COUNT
    assert {row["status"] for row in rows} == {"COMPLETED"}
    assert all(row["providerReference"] for row in rows)
    by_employee = {row["orderReference"]: row for row in rows}
    assert by_employee["W-046"]["amount"] == "10000"
    assert by_employee["W-199"]["recipientPhone"].endswith("+255754990020")

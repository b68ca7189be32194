"""Two-step log-in in a real browser: set up, asked for, recovered from; in both languages, and for everybody."""

import re
from typing import Any

import pytest
from playwright.async_api import Page, expect

from malipo import clock
from malipo.accounts.second_factor import totp
from tests.browser import axe
from tests.browser.browser_window import Windows, log_in_as_operator
from tests.browser.untranslated import english_in
from tests.browser.user_steps import invite

PASSWORD = "pamba la Mwanza 9"


async def choose_password(page: Page, link: str) -> None:
    await page.goto(link)
    for field in await page.locator('input[type="password"]').all():
        await field.fill(PASSWORD)
    await page.get_by_role("main").get_by_role("button").click()


async def sign_in(page: Page, email: str) -> None:
    await page.goto("/dashboard/login")
    await page.locator("#field-email").fill(email)
    await page.locator("#field-password").fill(PASSWORD)
    await page.get_by_role("main").get_by_role("button").click()


async def speak(page: Page, language: str) -> None:
    if language == "sw":
        await page.goto("/dashboard/login")
        await page.get_by_role("button", name="Kiswahili").first.click()
        await expect(page.locator("html")).to_have_attribute("lang", "sw")


async def faultless(page: Page, language: str) -> None:
    assert await axe.faults(page, is_dark_too=language == "en") == []  # Colours are the same in every language.
    if language == "sw":
        assert await english_in(page) == []


async def set_up(page: Page, language: str) -> tuple[str, list[str]]:
    """By the pages: the key as it is shown, and the recovery codes."""
    await page.goto("/dashboard/settings")
    await faultless(page, language)
    await page.locator("#second-factor a.button").click()
    await expect(page.locator("svg.qr")).to_be_visible()
    await faultless(page, language)
    key = (await page.locator(".steps pre").inner_text()).replace(" ", "").strip()
    await page.locator("#field-code").fill("000 00")
    await page.locator(".steps form button").click()
    await expect(page.locator(".wrong")).to_be_visible()
    await faultless(page, language)
    assert (await page.locator(".steps pre").inner_text()).replace(" ", "").strip() == key
    await page.locator("#field-code").fill(totp.code_at(key, totp.step_at(clock.now()) - 1))
    await page.locator(".steps form button").click()
    await expect(page.locator(".recovery-codes li")).to_have_count(10)
    await faultless(page, language)
    return key, await page.locator(".recovery-codes code").all_inner_texts()


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "sw"])
async def test_it_is_set_up_and_then_asked_for(windows: Windows, demo: dict[str, Any], language: str) -> None:
    email = f"amani-{language}@malipo.example"
    async with windows.open() as owner:
        link = await invite(owner, email, "Staff")
    async with windows.strange().open(reduced_motion="reduce") as page:
        await axe.prepare(page)
        await choose_password(page, link)
        await speak(page, language)
        await sign_in(page, email)
        key, recovery_codes = await set_up(page, language)
        await page.locator("main a.button.primary").click()
        await faultless(page, language)
        await page.goto("/dashboard/settings/second-factor/remove")
        await faultless(page, language)

    async with windows.strange().open(reduced_motion="reduce") as page:
        await axe.prepare(page)
        await speak(page, language)
        await sign_in(page, email)
        await expect(page).to_have_url(re.compile("/dashboard/login/code"))
        await faultless(page, language)
        await page.locator("summary", has_text=re.compile("recovery|akiba")).click()
        await faultless(page, language)
        await page.locator("#field-code").fill(totp.code_at(key, totp.step_at(clock.now())))
        await page.get_by_role("checkbox").check()
        await page.locator("main form button").first.click()
        await expect(page).to_have_url(re.compile("/dashboard$"))
        await page.goto("/dashboard/settings")
        await expect(page.locator("#browsers li")).to_have_count(1)
        await faultless(page, language)

    async with windows.strange().open(java_script_enabled=False) as page:
        await sign_in(page, email)
        await page.locator("summary").last.click()
        await page.locator("#field-recovery").fill(recovery_codes[0].upper())
        await page.locator(".other-way button").click()
        await expect(page).to_have_url(re.compile("/dashboard$"))


async def test_an_operators_account_is_for_everybody(windows: Windows, operator: tuple[str, str]) -> None:
    async with windows.strange().open(reduced_motion="reduce") as page:
        await axe.prepare(page)
        await log_in_as_operator(page, *operator)
        for path in ("/operator/account", "/operator/account/second-factor"):
            await page.goto(path)
            assert await axe.faults(page) == []

"""A person at the phone, in a real browser."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page

from tests import chromium
from tests.simulator.mpesa import Mpesa
from tests.simulator.processes import Sim

PATIENT = "+255754123100"

pytestmark = pytest.mark.usefixtures("unhurried")


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium.launched() as browser:
        yield browser


@pytest.fixture
async def complaints() -> list[str]:
    """What the browser did not like, a breach of the content policy among it."""
    return []


async def _open(browser: Browser, url: str, complaints: list[str], *, width: int = 1280) -> Page:
    page = await browser.new_page(viewport={"width": width, "height": 900})
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(url[:20]) else complaints.append(request.url))
    await page.goto(url)
    return page


async def test_a_prompt_arrives_is_typed_into_and_answered(
    sim: Sim, mpesa: Mpesa, browser: Browser, complaints: list[str]
) -> None:
    page = await _open(browser, f"{sim.url}/phones/%2B255754123100", complaints)
    await page.get_by_text("No messages yet").wait_for()

    # It arrives without a reload, and has the keyboard.
    await mpesa.collect(PATIENT, 1000)
    await page.get_by_role("dialog").wait_for()
    await page.keyboard.type("12")
    countdown = await page.locator("[data-until]").inner_text()
    assert 110 <= int(countdown.removesuffix(" s")) <= 120

    # What is half typed outlives the next look.
    await asyncio.sleep(1.2)
    assert await page.get_by_label("Enter PIN").input_value() == "12"
    assert await page.get_by_label("Enter PIN").get_attribute("type") == "password"
    await page.keyboard.type("34")
    await page.get_by_role("button", name="Approve").click()

    await page.get_by_text("You paid TZS 1,000 to Demo Shop").wait_for()
    assert await page.get_by_role("dialog").count() == 0
    assert await sim.charged(PATIENT) == [("charged", 1000)]

    # The list of phones is alive too.
    await page.goto(f"{sim.url}/")
    await mpesa.collect(PATIENT, 2000)
    await page.get_by_text("1 waiting").wait_for()
    assert complaints == []


async def test_without_a_script_the_buttons_work_all_the_same(
    sim: Sim, mpesa: Mpesa, browser: Browser, complaints: list[str]
) -> None:
    await mpesa.collect(PATIENT, 1000)
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(f"{sim.url}/phones/%2B255754123100")
    await page.get_by_role("button", name="Decline").click()
    await page.get_by_text("You declined to pay TZS 1,000").wait_for()
    assert await sim.charged(PATIENT) == []


async def test_no_page_is_wider_than_the_screen(
    sim: Sim, mpesa: Mpesa, browser: Browser, complaints: list[str]
) -> None:
    await mpesa.disburse(PATIENT, 1_000_000)
    await mpesa.collect(PATIENT, 1_000_000)
    page = await _open(browser, f"{sim.url}/", complaints, width=390)
    for path in ("/", "/behaviour", "/control", "/seen", "/phones/%2B255754123100"):
        await page.goto(sim.url + path)
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
    assert complaints == []

"""The first steps of a newcomer: create a payment, approve it on the phone, see that it is paid."""

import re
from typing import Any

from playwright.async_api import Page, expect

from tests.browser.user_steps import ask_for_money, moved_for
from tests.conftest import Client


async def _ended(shop: Client, id_: str) -> dict[str, Any]:
    """The payment as soon as it has ended, seen by waiting as a merchant's program would."""
    for _ in range(4):
        found: dict[str, Any] = (await shop("GET", f"/v1/payments/{id_}?wait=10")).body["transaction"]
        if found["status"] in ("COMPLETED", "FAILED"):
            return found
    raise AssertionError(f"it did not end: {found}")


async def test_a_customer_approves_the_prompt_on_the_phone(
    demo: dict[str, Any], shop: Client, page: Page, phone: str
) -> None:
    await page.goto(demo["phonesUrl"])
    await page.get_by_label("Phone number").fill(phone.replace("+255", "0"))
    await page.get_by_role("button", name="Pick up").click()
    await expect(page).to_have_url(re.compile(rf"/phones/(\+|%2B){phone[1:]}$"))

    payment = await ask_for_money(shop, phone)

    # It arrives without reloading.
    dialog = page.get_by_text("Lipa", exact=False).first
    await expect(dialog).to_be_visible()
    await expect(dialog).to_contain_text("TZS 12,500")
    await page.get_by_label("PIN").fill("1234")
    await page.get_by_role("button", name=re.compile("Kubali")).click()

    ended = await _ended(shop, payment)
    assert ended["status"] == "COMPLETED"
    assert [each["status"] for each in ended["statusLogs"]] == ["PENDING", "PROCESSING", "COMPLETED"]
    times = [each["timestamp"] for each in ended["statusLogs"]]
    assert times == sorted(times)
    assert ended["providerReference"]
    await expect(page.get_by_text("TZS 987,500").first).to_be_visible()
    assert await moved_for(shop, payment) == 12_500


async def test_a_customer_who_declines_is_charged_nothing(
    demo: dict[str, Any], shop: Client, page: Page, phone: str
) -> None:
    payment = await ask_for_money(shop, phone)
    await page.goto(f"{demo['phonesUrl']}/phones/{phone}")
    await expect(page.get_by_text("TZS 12,500").first).to_be_visible()
    await page.get_by_role("button", name=re.compile("Kataa")).click()

    ended = await _ended(shop, payment)
    assert (ended["status"], ended["failureCode"]) == ("FAILED", "declined")
    assert await moved_for(shop, payment) == 0

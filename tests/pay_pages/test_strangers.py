"""Who types the number that a link asks learns nothing by it: the answer is that to any other number. The customer's own
browser gets to its payment, and who presses again without a cookie is not charged twice."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from malipo.links.link import Link
from malipo.networks.connector import Verdict
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status
from tests.links.link_steps import ASHA, JUMA, NEEMA, LinkSteps
from tests.pay_pages.customer import Customer, Seen
from tests.pay_pages.test_pay_page import LOCAL, asked, at, only_payment, press

OTHER = "0754 000 200"


def learned(seen: Seen, typed: str) -> tuple[int, str, Mapping[str, str], Mapping[str, str]]:
    """All that a browser gets, without what it has sent itself: what was typed, and the page's press id."""
    text = re.sub(r'name="press" value="[0-9a-f]+"', "", seen.text).replace(f'value="{typed}"', "")
    # The seconds go on between two presses.
    headers = {name: value for name, value in seen.headers.items() if name != "content-length"}
    return seen.status, re.sub(r"about \d+ seconds", "", text), headers, seen.cookies


async def begun(steps: LinkSteps, customer: Customer, state: str, **fields: Any) -> tuple[Link, dict[str, str]]:
    """A link whose payment a customer has begun, and what else is typed at it."""
    link = await steps.make(**fields)
    typed = {"amount": "7,777"} if link.amount is None else {}
    await press(customer, link, LOCAL, **typed)
    payment = (await steps.payments())[-1]
    if state == "not sent yet":
        return link, typed
    await steps.claim()
    if state == "network away":
        await steps.report(payment, Verdict.UNSENT, AnswerSource.SEND)
        return link, typed
    await steps.report(payment, Verdict.WAITING, AnswerSource.SEND)
    if state == "in doubt":
        await steps.end_prompts()
    elif state == "paid":
        await steps.answer(payment)
    elif state == "expired":
        await steps.expire(link)
    elif state == "cancelled":
        await steps.cancel(link)
    return link, typed


@pytest.mark.parametrize("amount", [25_000, None])
@pytest.mark.parametrize("state", ["not sent yet", "network away", "asked", "in doubt", "paid", "expired", "cancelled"])
async def test_the_number_that_is_asked_and_another_one_get_the_same_answer(
    steps: LinkSteps, customer: Customer, other: Customer, state: str, amount: int | None
) -> None:
    link, typed = await begun(steps, customer, state, amount=amount)
    found = [learned(await press(other, link, phone, **typed), phone) for phone in (LOCAL, OTHER, LOCAL)]
    assert found[0] == found[1] == found[2]
    assert (found[0][0], found[0][3]) == (409, {})
    assert [each.phone for each in await steps.payments()] == [ASHA]
    assert (await other.get(at(link, "/state?of=PENDING"))).status == 404

    own = await customer.post(at(link), {"buyerPhone": LOCAL, "channel": "", **typed})
    assert own.status == 303, "it is the customer's own"
    assert "0754 000 100" in (await customer.get(at(link))).words.replace("\xa0", " ")


async def test_a_busy_link_says_what_is_true_for_its_customer_and_for_others(
    steps: LinkSteps, customer: Customer, other: Customer
) -> None:
    link, _ = await begun(steps, customer, "asked")
    seen = await press(other, link)
    assert "A payment of this link is under way. If it is yours, look at your phone." in seen.words
    assert re.search(r"wait until it has ended: about \d+ seconds", seen.words)
    seen = await other.get(at(link, "?lang=sw"))
    busy = await other.post(at(link, "?lang=sw"), {"buyerPhone": LOCAL, "channel": ""})
    assert "Malipo ya kiungo hiki yanaendelea." in busy.words


@pytest.mark.parametrize("reusable", [False, True])
async def test_where_another_number_would_be_asked_the_asked_one_gets_the_answer_of_a_number_that_is_not_asked(
    steps: LinkSteps, customer: Customer, other: Customer, reusable: bool
) -> None:
    """At a link that many may pay, and where a customer was warned that the first may have paid. It is the answer to
    numbers that were asked too often and to blocked ones."""
    async with steps.database.begin() as tx:
        await tx.execute("INSERT INTO blocked_numbers VALUES ($1, 'asked for it', 'operator zuhura', now())", JUMA)
    link, _ = await begun(steps, customer, "asked" if reusable else "in doubt", reusable=reusable)
    found = [learned(await press(other, link, phone, mayBeSecond="yes"), phone) for phone in (LOCAL, OTHER, LOCAL)]
    assert found[0] == found[1] == found[2]
    assert (found[0][0], found[0][3]) == (429, {})
    assert "look at that phone" in found[0][1].lower()
    assert [each.phone for each in await steps.payments()] == [ASHA]
    assert (await press(other, link, "0754 000 300", mayBeSecond="yes")).status == 303
    assert [each.phone for each in await steps.payments()] == [ASHA, NEEMA]


async def test_who_types_amounts_at_a_link_without_one_learns_nothing(
    steps: LinkSteps, customer: Customer, other: Customer
) -> None:
    link, _ = await begun(steps, customer, "asked", amount=None, reusable=True)
    found = [learned(await press(other, link, LOCAL, amount=amount), amount) for amount in ("7,777", "1,000")]
    assert found[0] == found[1]
    assert found[0][0] == 429
    bad = [await press(other, link, phone, amount="1") for phone in (LOCAL, "0754 000 300")]
    assert [each.status for each in bad] == [400, 400]


@pytest.mark.parametrize("reusable", [False, True])
async def test_a_customer_without_cookies_who_presses_again_is_asked_once(
    steps: LinkSteps, customer: Customer, reusable: bool
) -> None:
    customer.keeps_cookies = False
    link = await steps.make(reusable=reusable)
    await customer.get(at(link))
    form = {"buyerPhone": LOCAL, "channel": ""}
    assert [(await customer.post(at(link), form)).status for _ in range(2)] == [303, 303], "the same page is one press"
    await asked(steps, await only_payment(steps))
    again = await press(customer, link)
    assert (again.status, "ook at" in again.words) == (429 if reusable else 409, True)
    await steps.end_prompts()
    again = await press(customer, link)
    assert (again.status, "SMS" in again.words) == (429 if reusable else 409, True)
    assert "Nothing was charged" not in again.words, "it may have been"
    await steps.answer(await only_payment(steps), Status.FAILED)
    assert (await press(customer, link)).status == 303, "it was not paid"


async def test_a_cookie_of_another_payment_of_the_link_opens_no_payment_of_another_number(
    steps: LinkSteps, customer: Customer, other: Customer
) -> None:
    link, _ = await begun(steps, customer, "asked", reusable=True)
    assert (await press(other, link, OTHER)).status == 303
    assert (await press(other, link, LOCAL)).status == 429
    assert "0754 000 200" in (await other.get(at(link))).words


async def test_a_cookie_of_a_guest_from_before_an_upgrade_shows_nothing(
    steps: LinkSteps, customer: Customer, other: Customer
) -> None:
    link, _ = await begun(steps, customer, "asked")
    payment, signed = await only_payment(steps), steps.service.accounts.cookies
    for text, is_shown in ((f"{payment.id}-own", True), (payment.id, True), (f"{payment.id}-guest", False)):
        other.cookies = {(at(link), "malipo_pay"): signed.make_attempt(link.code, text)}
        assert ("asks 0754 000 100" in (await other.get(at(link))).words) is is_shown

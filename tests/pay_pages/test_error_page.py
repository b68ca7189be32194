"""Pages that cannot be shown say whom to ask, as all others: without a query, because a flood brings many of them."""

from dataclasses import replace

import pytest

from malipo.app.assemble import Service
from malipo.links.links import Links
from malipo.links.press import PressResult
from malipo.links.press_request import Press
from malipo.merchants.public_profile import Contact, Logo, PublicProfile
from malipo.merchants.store import public_profiles
from malipo.networks.connector import Type
from malipo.pay_pages.app import PayPages
from malipo.pay_pages.page_turns import PageTurns
from malipo.payments.transaction import Status
from tests.links.link_steps import LinkSteps
from tests.pay_pages.customer import Customer, Seen
from tests.pay_pages.test_pay_page import at
from tests.pay_pages.test_receipt_page import address


@pytest.fixture(autouse=True)
async def contact(steps: LinkSteps) -> None:
    async with steps.database.begin() as tx:
        profile = PublicProfile("Duka", "Duka la Mama Asha", Contact("+255222123456", "+255754000999"))
        now = steps.service.clock()
        await public_profiles.save(tx, steps.merchant_id, profile, now=now)
        await public_profiles.save_logo(tx, steps.merchant_id, Logo("ab" * 16, 96, 48), b"\x89PNG small", now=now)


def has_contact(seen: Seen) -> bool:
    return "Ask Duka la Mama Asha." in seen.words and 'href="tel:+255222123456"' in seen.text


async def test_an_error_page_of_a_link_that_was_shown_says_whom_to_ask(
    steps: LinkSteps, customer: Customer, other: Customer
) -> None:
    link = await steps.make()
    await other.get(at(link))
    form = {"buyerPhone": "0754 000 100", "channel": ""}
    seen = [
        await customer.get(at(link, "/nothing")),
        await customer.post(at(link), form, origin="https://evil.example"),
        await customer.post(at(link, "/poster"), form),
        await customer.get(at(link).upper().replace("/PAY", "/pay") + "/nothing"),
    ]
    assert [each.status for each in seen] == [404, 403, 405, 404]
    assert [has_contact(each) for each in seen] == [True] * 4
    assert "/pay/logo/" not in seen[0].text, "it would be one more request"
    customer.language = "sw"
    assert "Uliza Duka la Mama Asha." in (await customer.get(at(link, "/nothing"))).words


async def test_a_flood_costs_no_query_and_each_page_says_whom_to_ask(steps: LinkSteps, service: Service) -> None:
    turns = PageTurns(at_once=1, most_waiting=0)
    customer, link = Customer(PayPages(service, turns)), await steps.make()
    await customer.get(at(link))
    async with turns.taken("a"), steps.database.begin() as tx:
        await tx.execute("LOCK TABLE links, merchants, public_profiles")
        seen = await customer.get(at(link))
        unknown = await customer.get("/pay/0000000000000000")
    assert (seen.status, has_contact(seen)) == (503, True)
    assert (unknown.status, "Ask" in unknown.words) == (503, False)
    for _ in range(61):
        await customer.get("/pay/0000000000000000")
    seen = await customer.get(at(link))
    assert (seen.status, has_contact(seen)) == (429, True)


class BrokenLinks(Links):
    def __init__(self) -> None:
        pass

    async def press(self, press: Press) -> PressResult:
        raise ZeroDivisionError


async def test_a_page_that_breaks_says_whom_to_ask(steps: LinkSteps, service: Service) -> None:
    link = await steps.make()
    customer = Customer(PayPages(replace(service, links=BrokenLinks())))
    await customer.get(at(link))
    seen = await customer.post(at(link), {"buyerPhone": "0754 000 100", "channel": ""})
    assert (seen.status, has_contact(seen)) == (500, True)


async def test_an_error_page_of_a_receipt_that_was_shown_says_whom_to_ask(steps: LinkSteps, customer: Customer) -> None:
    where = await address(steps, await steps.ended(Type.COLLECTION, Status.COMPLETED))
    assert not has_contact(await customer.get(f"{where}/nothing"))
    await customer.get(where)
    assert has_contact(await customer.get(f"{where}/nothing"))
    assert not has_contact(await customer.get(f"{where.upper().replace('/RECEIPT', '/receipt')}/nothing"))

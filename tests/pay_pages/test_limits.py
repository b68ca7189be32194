"""The limits of pay pages in a process: waiting pages, connections to the service, connections to the database."""

import asyncio
from collections.abc import Callable
from functools import partial

import aiohttp

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.http_server.app import WebApplication
from malipo.links.store import links
from malipo.pay_pages.live_state import MOST_WAITING
from tests.conftest import NO_LIMITS, Client, Merchant, Running, until_ready
from tests.db.lock_waits import are_waiting, count_waiting
from tests.journeys.full_stack import until
from tests.links.link_steps import LinkSteps
from tests.pay_pages.customer import Customer
from tests.pay_pages.test_pay_page import at, press


async def are_following(service: Service, number: int) -> None:
    async def they_are() -> bool:
        return service.long_polls.customers.waiting == number

    await until(they_are, what="the waiting pages", pause=0.01)


async def test_three_hundred_pages_wait_for_a_change_and_the_next_is_told_to_come_back(
    steps: LinkSteps, customer: Customer, service: Service
) -> None:
    link = await steps.make()
    await press(customer, link)
    nobody = partial(service.long_polls.customers.until_changed, ("mer_0", "txn_0"), None, seconds=60)
    others = [asyncio.ensure_future(nobody()) for _ in range(MOST_WAITING - 1)]
    state = at(link, "/state?of=PENDING")
    last = asyncio.ensure_future(customer.get(state))
    await are_following(service, 300)

    over = await customer.get(state)

    assert (over.status, over.text, over.headers["retry-after"]) == (200, "PENDING", "5")
    await steps.claim()
    waited = await last
    assert (waited.text, "retry-after" in waited.headers) == ("PROCESSING", False)
    for each in others:
        each.cancel()


async def test_an_address_whose_presses_make_no_payment_presses_again_in_a_minute(
    steps: LinkSteps, customer: Customer, other: Customer
) -> None:
    """They take no lock any more. Another address is not shut out."""
    other.address = "196.41.0.8"
    link, second = await steps.make(), await steps.make()
    await press(other, link)
    await customer.get(at(link))
    form = {"buyerPhone": "0754 000 200", "channel": ""}
    seen = [await customer.post(at(link), form) for _ in range(61)]
    assert [each.status for each in seen] == [409] * 60 + [429]
    assert seen[60].headers["retry-after"] == "60"
    assert "This one did nothing. If your phone asks for the PIN, type it there." in seen[60].words
    async with steps.database.begin() as tx:
        await links.lock(tx, steps.merchant_id, link.id)
        assert (await customer.post(at(link, "?lang=sw"), form)).status == 429, "it waits for nothing"
    assert "Huu haukufanya chochote" in (await customer.post(at(link, "?lang=sw"), form)).words
    assert (await customer.post(at(second), form)).status == 429, "whichever link"
    assert (await customer.get(at(link))).status == 200
    assert (await press(other, second, "0754 000 300")).status == 303


async def test_a_link_whose_presses_make_no_payment_is_pressed_again_in_a_minute(
    steps: LinkSteps, customer: Customer
) -> None:
    """Also those of who presses the same again and again, each in another spelling of the code."""
    link, second = await steps.make(), await steps.make()
    assert (await press(customer, link)).status == 303
    statuses = []
    for number in range(121):
        customer.address = f"196.41.1.{number // 40}"
        path = at(link).upper().replace("/PAY", "/pay") if number % 2 else at(link)
        statuses.append((await customer.post(path, {"buyerPhone": "0754 000 100", "channel": ""})).status)
    assert statuses == [303] * 120 + [429]
    customer.address = "196.41.1.9"
    assert (await customer.post(at(link), {"buyerPhone": "0754 000 100", "channel": ""})).status == 429
    assert (await press(customer, second)).status == 303, "another link"


async def test_presses_that_make_payments_and_mistakes_count_for_none_of_these_limits(
    steps: LinkSteps, customer: Customer
) -> None:
    link = await steps.make(reusable=True)
    await customer.get(at(link))
    for _ in range(61):
        assert (await customer.post(at(link), {"buyerPhone": "12", "channel": ""})).status == 400
    for number in range(61):
        assert (await press(customer, link, f"0754 001 1{number:02d}")).status == 303


async def test_customers_have_a_share_of_the_connections_and_the_others_theirs(
    steps: LinkSteps, service: Service
) -> None:
    """Half of what people have, which is half of all."""
    whole = WebApplication(service, most_pages=4)
    customer = Customer(whole)
    link = await steps.make()
    await press(customer, link)
    waiting = [asyncio.ensure_future(customer.get(at(link, "/state?of=PENDING"))) for _ in range(2)]
    await are_following(service, 2)

    assert (await customer.get(at(link))).status == 503
    assert (await customer.get("/dashboard/login")).status == 200
    assert (await customer.get("/v1/payments")).status == 401, "it looks at the key"

    await steps.claim()
    assert [each.text for each in await asyncio.gather(*waiting)] == ["PROCESSING"] * 2
    assert (await customer.get(at(link))).status == 200


async def test_pages_use_only_the_database_connections_of_customers(
    start: Callable[..., Running], database: Database, database_url: str, merchant: Merchant, steps: LinkSteps
) -> None:
    link = await steps.make()
    running = await until_ready(start("api", database_url=database_url, database_pool_customers=1, **NO_LIMITS))
    async with aiohttp.ClientSession() as http:

        async def look() -> int:
            async with http.get(running.url + at(link)) as answer:
                return answer.status

        async with database.begin() as tx:
            await tx.execute("LOCK TABLE links")
            pages = [asyncio.ensure_future(look()) for _ in range(4)]
            await until(lambda: are_waiting(database, of="FROM links"), what="a page that waits", pause=0.01)
            program = Client(http, running.url, merchant.key)
            assert (await program("GET", "/v1/payments")).status == 200, "it has connections of its own"
            async with database.read() as connection:
                assert await count_waiting(connection, of="FROM links") == 1
        assert await asyncio.gather(*pages) == [200] * 4

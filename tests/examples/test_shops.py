"""The example shops, with the clients, at the real service: every test number, attempts after a failure, refunds, events
that come twice or never. One stack for all three; the orders of a shop run side by side."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from malipo_simulator.behaviour import ANY_OTHER, TABLE
from tests.clients.typescript_and_php.programs import PHP, TYPESCRIPT, built_typescript, here
from tests.conftest import create_database, free_port
from tests.examples.example_receivers import EXAMPLES
from tests.examples.losing_proxy import losing_proxy
from tests.examples.signed_webhooks import STRANGE, event, signed
from tests.journeys.full_stack import FullStack, full_stack_started, until

PAYS = "001"
# What becomes of an order whose customer has this number. One that failed may have been paid after all.
BECOMES = {
    PAYS: "PAID",
    "100": "FAILED",
    "101": "FAILED",
    "102": "FAILED",
    "103": "FAILED",
    "104": "PAID",
    "105": "PAID",
    "106": "PAID",
    "107": "PAID",
    "108": "FAILED",
    "109": "PENDING",
    "110": "PAID",
    "111": "PAID",
    "112": "PAID",
    "113": "PAID",
}
FAILURES = {"100": "expired", "101": "declined", "102": "insufficient_funds", "103": "expired", "108": "not_received"}


@pytest.fixture(scope="module")
async def full_stack(
    postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[FullStack]:
    url = await create_database(postgres, template)
    folder: Path = tmp_path_factory.mktemp("town")
    async with full_stack_started(folder, url, speed=30, webhook_allow_private="true") as full_stack:
        full_stack.start("worker")
        yield full_stack


@dataclass
class Shop:
    folder: Path
    command: list[str]
    catching_up: list[str]  # where the shop does not do it by itself
    environment: dict[str, str]
    url: str
    prefix: str  # of its customers' numbers
    http: aiohttp.ClientSession
    process: subprocess.Popen[bytes] | None = None

    async def open(self, **settings: str) -> "Shop":
        self.process = self._started(self.command, settings)
        await until(self._answers, what="the shop's opening", pause=0.05)
        return self

    def _started(self, command: list[str], settings: dict[str, str]) -> subprocess.Popen[bytes]:
        environment = {"PATH": os.environ["PATH"], **self.environment, **settings}
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )

    async def catch_up(self) -> None:
        if self.catching_up:
            done = await asyncio.to_thread(self._started(self.catching_up, {}).wait, 60)
            assert done == 0, (self.folder / "log").read_text()

    async def _answers(self) -> bool:
        try:
            return (await self("GET", "/orders/0"))[0] == 404
        except aiohttp.ClientError:
            return False

    def close(self) -> None:
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(240)

    async def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        async with self.http.request(method, self.url + path, json=body) as answer:
            return answer.status, await answer.json(content_type=None)

    async def send_event(self, name: str, **transaction: Any) -> None:
        body = event(None, kind=name, **transaction)
        headers = signed(body, self.environment["WEBHOOK_SECRET"])
        async with self.http.post(f"{self.url}/webhooks", data=body, headers=headers) as answer:
            assert answer.status == 200, await answer.text()

    def phone(self, digits: str) -> str:
        return f"{self.prefix}{digits}"

    async def order(self, digits: str) -> str:
        body = {"amount": 2000, "phone": self.phone(digits), "channel": "AIRTEL_MONEY"}
        status, order = await self("POST", "/orders", body)
        assert status == 200, order
        return str(order["id"])

    async def becomes(self, order: str, *wanted: str, by_feed: bool = False) -> Any:
        async def has() -> Any:
            if by_feed:
                await self.catch_up()
            _, found = await self("GET", f"/orders/{order}")
            return found if found["status"] in wanted else None

        return await until(has, what=f"{wanted} of {order}", seconds=60)


PREFIXES = {"python": "+255684011", "node": "+255684012", "php": "+255684013"}


@pytest.fixture(params=PREFIXES)
async def shop(request: pytest.FixtureRequest, full_stack: FullStack, tmp_path: Path) -> AsyncIterator[Shop]:
    """As a developer would put it together, with an endpoint of its own."""
    port, catching_up = free_port(), []
    environment = {"MALIPO_API_KEY": full_stack.merchant.key, "MALIPO_URL": full_stack.api.url, "PORT": str(port)}
    if request.param == "python":
        command = [sys.executable, str(EXAMPLES / "python" / "shop.py")]
        environment["PYTHONPATH"] = str(EXAMPLES.parent / "clients" / "python" / "src")
    elif request.param == "node":
        shutil.copy(EXAMPLES / "node" / "shop.mjs", tmp_path)
        (tmp_path / "node_modules").mkdir()
        assert built_typescript().parent == TYPESCRIPT
        (tmp_path / "node_modules" / "malipo-client").symlink_to(TYPESCRIPT)
        command = [here("node"), "shop.mjs"]
    else:
        shutil.copy(EXAMPLES / "php" / "shop.php", tmp_path)
        shutil.copy(PHP / "Malipo.php", tmp_path)
        command = [here("php"), "-S", f"127.0.0.1:{port}", "shop.php"]
        catching_up = [here("php"), "shop.php", "catch-up"]
        environment["PHP_CLI_SERVER_WORKERS"] = "4"
    url = f"http://127.0.0.1:{port}"
    made = await full_stack.api("POST", "/v1/webhooks", {"url": f"{url}/webhooks", "events": ["*"]})
    endpoint = made.body["endpoint"]
    environment |= {"WEBHOOK_SECRET": endpoint["secret"], "CATCH_UP_SECONDS": "3600"}
    async with aiohttp.ClientSession() as http:
        shop = Shop(tmp_path, command, catching_up, environment, url, PREFIXES[request.param], http)
        try:
            yield await shop.open()
        finally:
            shop.close()
            await full_stack.api("DELETE", f"/v1/webhooks/{endpoint['id']}")


def test_every_test_number_is_run() -> None:
    assert set(BECOMES) - {PAYS} == {row.digits for row in TABLE} - {ANY_OTHER}


async def test_a_shop_takes_every_test_number(shop: Shop, full_stack: FullStack) -> None:
    ids = await asyncio.gather(*map(shop.order, BECOMES))
    orders = dict(zip(BECOMES, ids, strict=True))
    shown = await asyncio.gather(*(shop.becomes(orders[digits], BECOMES[digits]) for digits in BECOMES))
    ended = dict(zip(BECOMES, shown, strict=True))
    assert {digits: ended[digits]["attempts"][0]["failure"] for digits in FAILURES} == FAILURES

    # The customer tries again, and nobody is asked twice.
    for digits in (PAYS, "109"):
        assert (await shop("POST", f"/orders/{orders[digits]}/pay", {}))[0] == 409
    again = {"phone": shop.phone("002")}
    await asyncio.gather(*(shop("POST", f"/orders/{orders[digits]}/pay", again) for digits in FAILURES))
    await asyncio.gather(*(shop.becomes(orders[digits], "PAID") for digits in FAILURES))
    assert [(await _made(full_stack, orders[digits])) for digits in (PAYS, "101", "109")] == [1, 2, 1]

    # In parts, then all that is left; two clicks are one refund.
    path = f"/orders/{orders[PAYS]}/refund"
    assert {(await shop("POST", path, {"amount": 500}))[0] for _ in range(2)} == {200}
    part = await shop.becomes(orders[PAYS], "PARTLY_REFUNDED")
    assert [each["amount"] for each in part["refunds"]] == [500]
    await until(lambda: _has_ended(shop, orders[PAYS]), what="the refund's own event")
    assert (await shop("POST", path, {}))[0] == 200
    assert [each["amount"] for each in (await shop.becomes(orders[PAYS], "REFUNDED"))["refunds"]] == [500, 1500]
    assert (await shop("POST", f"/orders/{orders['109']}/refund", {}))[0] == 409

    # A refund that fails can be sent again, with another key.
    failing = f"/orders/{orders['113']}"
    for number in (1, 2):
        assert (await shop("POST", f"{failing}/refund", {}))[0] == 200
        failed = await until(lambda: _has_failed(shop, orders["113"]), what="the failure of the refund")
        assert [each["status"] for each in failed["refunds"]] == ["FAILED"] * number

    # A refund that is reported as failed and paid after all is not sent again.
    assert (await shop("POST", f"/orders/{orders['110']}/refund", {}))[0] == 200
    await shop.becomes(orders["110"], "REFUNDED")
    await until(lambda: _has_ended(shop, orders["110"]), what="the refund's own event")
    assert len((await shop("GET", f"/orders/{orders['110']}"))[1]["refunds"]) == 1

    # Every event a second time, from the feed.
    before = [(await shop("GET", f"/orders/{order}"))[1] for order in ids]
    shop.close()
    await shop.open(CATCH_UP_SECONDS="0.2")
    await shop.catch_up()
    assert [(await shop("GET", f"/orders/{order}"))[1] for order in ids] == before


async def test_a_shop_without_webhooks_and_one_that_was_cut_off_lose_nothing(shop: Shop, full_stack: FullStack) -> None:
    shop.close()
    closed = {"MALIPO_URL": f"http://127.0.0.1:{free_port()}", "CATCH_UP_SECONDS": "3600"}
    await shop.open(**closed)
    # The order is stored before malipo is asked. That it was not reached is no failure of the payment.
    body = {"amount": 2000, "phone": shop.phone("104"), "channel": "AIRTEL_MONEY"}
    assert (await shop("POST", "/orders", body))[0] == 503
    for endpoint in (await full_stack.api("GET", "/v1/webhooks")).body["endpoints"]:
        await full_stack.api("PATCH", f"/v1/webhooks/{endpoint['id']}", {"isActive": False})
    shop.close()
    await shop.open(CATCH_UP_SECONDS="0.2")
    unsent = await until(lambda: _sent_to(full_stack, shop, str(body["phone"])), what="what was never sent")
    assert (await shop.becomes(unsent, "PAID", by_feed=True))["attempts"][0]["payment"]
    assert await _made(full_stack, unsent) == 1

    # The first payment failed, the customer tried again, and then the first was paid after all: one of them goes back.
    order = await shop.order("109")
    first = (await shop("GET", f"/orders/{order}"))[1]["attempts"][0]["payment"]
    attempt = {"id": first, "amount": 2000, "orderReference": order, "metadata": {"attempt": 1}, "status": "FAILED"}
    await shop.send_event("payment.failed", **attempt, failureCode="rejected", failureReason="The network refused it.")
    assert (await shop("POST", f"/orders/{order}/pay", {"phone": shop.phone("003")}))[0] == 200
    await shop.becomes(order, "PAID", by_feed=True)
    answer = {"outcome": "COMPLETED", "amount": 2000, "correctedAt": "2026-11-15T08:31:00.123Z", "reason": "credited"}
    await shop.send_event("payment.corrected", **attempt, correction=answer)
    await shop.becomes(order, "PAID_TWICE")
    assert (await shop("POST", f"/orders/{order}/refund", {}))[0] == 200
    await shop.becomes(order, "PAID", by_feed=True)


async def test_a_refusal_after_a_lost_answer_asks_nobody_twice(shop: Shop, full_stack: FullStack) -> None:
    """The key is revoked between the payment, whose answer is lost, and its repeat. No webhook comes but those of here."""
    shop.close()
    for endpoint in (await full_stack.api("GET", "/v1/webhooks")).body["endpoints"]:
        await full_stack.api("PATCH", f"/v1/webhooks/{endpoint['id']}", {"isActive": False})
    async with losing_proxy(full_stack.api.url) as proxy:
        await shop.open(MALIPO_URL=proxy.url)
        proxy.loses, proxy.refuses = 1, ("GET", "POST")
        body = {"amount": 2000, "phone": shop.phone("109"), "channel": "AIRTEL_MONEY"}
        assert (await shop("POST", "/orders", body))[0] == 503
        order = proxy.lost[0]["orderReference"]
        pay = f"/orders/{order}/pay"
        for refuses in (("GET", "POST"), ("POST",)):  # At first not even the payment can be looked up.
            proxy.refuses = refuses
            assert (await shop("POST", pay, {}))[0] == 401
            found = (await shop("GET", f"/orders/{order}"))[1]
            assert [each["status"] for each in found["attempts"]] == ["NEW"]
        await shop.send_event("payment.completed", **_attempt(order, 1), status="COMPLETED")
        assert (await shop("GET", f"/orders/{order}"))[1]["status"] == "PAID"
        assert (await shop("POST", pay, {}))[0] == 409
        assert await _made(full_stack, order) == 1

        # What never came to malipo is over as soon as malipo says that it has no such payment, and not before.
        proxy.loses, proxy.arrives, proxy.refuses = 1, False, ("GET", "POST")
        await shop("POST", "/orders", {**body, "phone": shop.phone("101")})
        order = proxy.lost[1]["orderReference"]
        assert (await shop("GET", f"/orders/{order}"))[1]["status"] == "NEW"
        proxy.refuses = ("POST",)
        assert (await shop("POST", f"/orders/{order}/pay", {}))[0] == 401
        assert (await shop("GET", f"/orders/{order}"))[1]["status"] == "REFUSED"
        proxy.refuses = ()
        assert (await shop("POST", f"/orders/{order}/pay", {"phone": shop.phone(PAYS)}))[0] == 200
        await shop.send_event("payment.completed", **_attempt(order, 2), status="COMPLETED")
        assert (await shop("GET", f"/orders/{order}"))[1]["status"] == "PAID"
        # Should there have been a payment of the first attempt all the same, one of the two goes back.
        await shop.send_event("payment.completed", **_attempt(order, 1), status="COMPLETED")
        assert (await shop("GET", f"/orders/{order}"))[1]["status"] == "PAID_TWICE"


async def test_a_strangers_word_changes_nothing(shop: Shop) -> None:
    status, _ = await shop("POST", "/orders", {"amount": 1, "phone": "0754", "channel": "MPESA"})
    assert status == 400, "malipo has refused it"
    order = await shop.order("109")
    body = event(None, orderReference=order, status="FAILED", metadata={"attempt": 1})
    async with shop.http.post(f"{shop.url}/webhooks", data=body, headers=signed(body, STRANGE)) as answer:
        assert answer.status in (400, 401)
    assert (await shop("GET", f"/orders/{order}"))[1]["status"] in ("PENDING", "PROCESSING")
    assert (await shop("GET", "/orders/constructor"))[0] == 404


def _attempt(order: str, number: int) -> dict[str, Any]:
    return {"id": f"txn_{number}", "amount": 2000, "orderReference": order, "metadata": {"attempt": number}}


async def _has_failed(shop: Shop, order: str) -> Any:
    _, found = await shop("GET", f"/orders/{order}")
    return found if found["refunds"][-1]["status"] == "FAILED" else None


async def _has_ended(shop: Shop, order: str) -> Any:
    return (await shop("GET", f"/orders/{order}"))[1]["refunds"][-1]["status"] == "COMPLETED"


async def _sent_to(full_stack: FullStack, shop: Shop, phone: str) -> str | None:
    """The order of the payment that this customer was asked for. A shop does not know those of the test before."""
    await shop.catch_up()
    page = await full_stack.api("GET", f"/v1/payments?type=COLLECTION&view=full&search=%2B{phone[1:]}")
    orders = [each["orderReference"] for each in page.body["transactions"]]
    known = [each for each in orders if (await shop("GET", f"/orders/{each}"))[0] == 200]
    return known[0] if known else None


async def _made(full_stack: FullStack, order: str) -> int:
    found = await full_stack.api("GET", f"/v1/payments?type=COLLECTION&orderReference={order}")
    return int(found.body["pagination"]["total"])


async def test_the_shop_without_a_program_leads_to_a_payment(full_stack: FullStack) -> None:
    """The page of one file, with the address of a link put in as its first lines say."""
    wanted = {"amount": 12_500, "description": "Maziwa, lita 5", "reusable": True}
    link = (await full_stack.api("POST", "/v1/links", wanted)).body["link"]
    page = (EXAMPLES / "links" / "shop.html").read_text().replace("https://pay.example.co.tz/pay/HERE", link["url"])
    assert "HERE" not in page.partition("-->")[2], "every place has an address"
    pays = re.findall(r'<strong>Maziwa, lita 5</strong>TZS 12,500</div><a href="([^"]+)">Lipa</a>', page)
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:

        async def shown(address: str) -> str:
            async with browser.get(address, headers={"accept-language": "sw"}) as answer:
                assert answer.status == 200
                return await answer.text()

        [address] = pays
        found = re.search(r'name="press" value="([0-9a-f]+)"', await shown(address))
        assert found is not None
        form = {"press": found[1], "buyerPhone": "0684 014 001", "channel": ""}
        async with browser.post(address, data=form, headers={"accept-language": "sw"}) as answer:
            assert answer.status == 200, await answer.text()

        async def is_paid() -> bool:
            return "Imelipwa" in await shown(address)

        await until(is_paid, what="the page that says that it is paid")
    payments = (await full_stack.api("GET", f"/v1/payments?link={link['id']}")).body["transactions"]
    assert [(each["status"], each["amount"]) for each in payments] == [("COMPLETED", 12_500)]

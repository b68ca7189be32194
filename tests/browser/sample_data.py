"""A shop with one of everything that a page can show, so that every page can be looked at with something on it."""

import io
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
from playwright.async_api import Page

from malipo import clock
from malipo.dashboard.merchant.routes import PAGES
from malipo.dashboard.operator.routes import PAGES as OPERATOR_PAGES
from malipo_simulator.bank.bank import Bank
from malipo_simulator.bank.statement_formats import FORMATS
from tests.browser.user_steps import broken_down
from tests.conftest import Client
from tests.dashboard.page_client import Surfer, surfing
from tests.journeys.webhook_receivers import a_receiver, says

# A stream; and a page that is only there with the link of an e-mail (tests/dashboard/merchant/test_stop_bank_account.py).
_NO_PAGES = ("/dashboard/live", "/dashboard/stop")
PATHS = [
    page.path
    for page in PAGES
    if page.method == "GET" and page.path not in _NO_PAGES and not page.path.endswith((".csv", ".xlsx"))
]
# Those that lead elsewhere, and files.
_NO_OPERATOR_PAGES = (
    *("/operator/cases", "/operator/cases/chosen", "/operator/close/day", "/operator/exceptions/chosen"),
    "/operator/attachments/{id}",
)
# Files of the books.
_NOT_IN_THE_SHOP = re.compile(r"\{format\}|\.zip$")
OPERATOR_PATHS = [
    page.path
    for page in OPERATOR_PAGES
    if page.method == "GET"
    and page.path not in _NO_OPERATOR_PAGES
    and not page.path.endswith((".csv", ".signed", ".sig", ".pem"))
    and not _NOT_IN_THE_SHOP.search(page.path)
]


@dataclass(frozen=True)
class Scene:
    transaction: str  # that waits, because its network is down
    stuck: str  # a payout that its network never decides
    key: str
    endpoint: str  # whose server fails, and whose secret is being changed
    delivery: str
    calm: str  # an endpoint with nothing the matter
    person: str
    link: str
    batch: str = ""  # that awaits approval
    draft: str = ""  # with problems, warnings and repairs
    paid: str = ""  # a collection that can be refunded
    pay_link: str = ""
    settlement: str = ""  # that waits for a file
    bank_account: str = ""
    merchant: str = ""  # as operators' pages name it
    # Of operators' pages: what `reconciled` has made.
    statement: str = ""
    exception: str = ""
    upload: str = ""
    day: str = ""
    # Of the pages of our bank accounts: what `banked` has made.
    payout_file: str = ""
    bank_statement: str = ""
    bank_exception: str = ""
    bank_upload: str = ""

    def path(self, path: str) -> str:
        """The page, about something of this shop's."""
        endpoint = self.calm if path.endswith("/rotate") else self.endpoint
        transaction = self.paid if path.endswith("/refund") else self.transaction
        names = {"transactions": transaction, "keys": self.key, "webhooks": endpoint, "people": self.person}
        names |= {"batches": self.batch, "drafts": self.draft, "links": self.pay_link}
        names |= {"settlements": self.settlement, "accounts": self.bank_account}
        names |= {"statements": self.statement, "exceptions": self.exception}
        path = re.sub(r"(\w+)/{id}", lambda found: f"{found[1]}/{names[found[1]]}", path)
        values = {"delivery": self.delivery, "payment": self.stuck, "upload": self.upload, "day": self.day}
        values |= {"file": self.payout_file, "bank_statement": self.bank_statement}
        values |= {"bank_exception": self.bank_exception, "bank_upload": self.bank_upload}
        values |= {"merchant": self.merchant, "endpoint": self.endpoint}
        return self.link if path == "/dashboard/password" else path.format(**values)


async def with_merchant(page: Page, scene: Scene) -> Scene:
    """With the id of the shop, which an operator sees in this window."""
    await page.goto("/operator/merchants")
    link = await page.locator("td.is-title").first.get_by_role("link").get_attribute("href")
    assert link is not None
    return replace(scene, merchant=link.rpartition("/")[2])


async def reconciled(page: Page, scene: Scene, folder: Path) -> Scene:
    """With a statement that an operator has imported in this window, a line of it that fits nothing, and a file that is
    only sent."""
    day = clock.day_of(clock.now()) - timedelta(days=1)
    head = f"opening balance,0\nclosing balance,700\nfrom,{day} 00:00\nto,{day + timedelta(days=1)} 00:00\n"
    known, unknown = folder / "taarifa.csv", folder / "isiyojulikana.csv"
    known.write_text(f"{head}receipt,time,amount,balance\nQK7001,{day} 10:00,700,700\n")
    unknown.write_text(f"Tarehe date,Namba txn,Kiasi amount,Aina entry\n{day} 10:00,K1,5000,Mapato\n")
    await _send(page, known)
    await page.locator("main .button.primary").click()
    await page.wait_for_url("**/stf_*")
    statement = page.url.rpartition("/")[2]
    await page.goto("/operator/exceptions?channel=HALOPESA")
    exception = await page.locator("td.is-title a").first.get_attribute("href")
    await _send(page, unknown)
    upload = page.url.rpartition("/")[2]
    return replace(
        scene, statement=statement, exception=(exception or "").rpartition("/")[2], upload=upload, day=f"{day}"
    )


async def _send(page: Page, file: Path) -> None:
    await page.goto("/operator/statements/new")
    await page.locator("[name=channel]").select_option("HALOPESA")
    await page.locator("[name=file]").set_input_files(file)
    await page.locator("main .button.primary").click()
    await page.wait_for_url("**/upl_*")


async def banked(page: Page, scene: Scene, folder: Path) -> Scene:
    """With a payout file that waits for another operator, a statement of the bank with a line that fits nothing, and a
    file that is only sent."""
    await page.goto("/operator/bank/files")
    await page.get_by_role("button", name="Gather a file").click()
    await page.wait_for_url("**/pfl_*")
    payout_file = page.url.rpartition("/")[2]
    bank, today = Bank(), clock.day_of(clock.now())
    bank.deposit(700_00, today, "GIFT")
    known, sent = folder / "benki.xml", folder / "benki.sta"
    known.write_bytes(FORMATS["camt053"][1](bank, today, today))
    await _send_to_bank(page, known)
    await page.get_by_role("button", name="Import it").click()
    await page.wait_for_url("**/bst_*")
    statement = page.url.rpartition("/")[2]
    await page.goto("/operator/bank/exceptions")
    exception = await page.locator("td.is-title a").first.get_attribute("href")
    sent.write_bytes(FORMATS["mt940"][1](bank, today, today))
    await _send_to_bank(page, sent)
    upload = page.url.rpartition("/")[2]
    return replace(
        scene,
        payout_file=payout_file,
        bank_statement=statement,
        bank_exception=(exception or "").rpartition("/")[2],
        bank_upload=upload,
    )


async def _send_to_bank(page: Page, file: Path) -> None:
    await page.goto("/operator/bank/statements/new")
    await page.locator("[name=file]").set_input_files(file)
    await page.locator("main .button.primary").click()
    await page.wait_for_url("**/upl_*")


@asynccontextmanager
async def staged(demo: dict[str, Any], shop: Client) -> AsyncIterator[Scene]:
    async with a_receiver() as receiver, surfing(demo["baseUrl"]) as owner:
        assert (await owner.log_in(demo["email"], demo["password"])).status == 303
        calm, endpoint = await _endpoints(owner, receiver.behave("/hook", says(500, b"the shelf is full")))
        paid = await _pay(shop)
        key = await _add(owner, "keys", name="Duka la mtandaoni", permissions="payments.read", environment="live")
        person = await _add(
            owner, "settings/people", name="Upendo Shirima", email="upendo@malipo.example", role="staff"
        )
        link = await owner.post(f"/dashboard/settings/people/{person}/link")
        delivery = re.search(rf"{endpoint}/deliveries/(\w+)", (await owner.get(f"/dashboard/webhooks/{endpoint}")).text)
        token = re.search(r"/dashboard/password\?token=[\w-]+", link.text)
        assert delivery is not None
        assert token is not None
        async with broken_down(demo, shop, "AIRTEL_MONEY"):
            waiting = await _payout(shop, "AIRTEL_MONEY", "+255684777001")
            stuck = await _payout(shop, "MPESA", "+255754777109")
            batch, draft = await _batch(shop), await _draft(owner)
            made = await shop("POST", "/v1/links", {"amount": 25_000, "description": "Order 1042: two kitenge"})
            pay_link = str(made.body["link"]["id"])
            settled = (await shop("POST", "/v1/settlements", {"amount": 20_000})).body["settlement"]
            scene = Scene(
                waiting, stuck, key, endpoint, delivery[1], calm, person, token[0], batch, draft, paid, pay_link
            )
            yield replace(scene, settlement=str(settled["id"]), bank_account=str(settled["bankAccount"]["id"]))


async def _pay(shop: Client) -> str:
    """One that is declined, and one that is paid: its id."""
    made: dict[str, Any] = {}
    for phone in ("+255754777101", "+255754777001"):
        body = {"amount": 185_000, "channel": "MPESA", "buyerPhone": phone, "buyerName": "Neema Massawe"}
        made = (await shop("POST", "/v1/payments", body)).body["transaction"]
        while made["status"] not in ("COMPLETED", "FAILED"):
            made = (await shop("GET", f"/v1/payments/{made['id']}?wait=10")).body["transaction"]
    return str(made["id"])


async def _payout(shop: Client, channel: str, phone: str) -> str:
    body = {"amount": 60_000, "channel": channel, "recipientPhone": phone, "recipientName": "Juma"}
    return str((await shop("POST", "/v1/payments/disburse", body)).body["transaction"]["id"])


async def _batch(shop: Client) -> str:
    items = [
        {"amount": 1_000, "channel": "MPESA", "recipientPhone": "+255754777002", "recipientName": "Asha"},
        {"amount": 1_000, "channel": "MPESA", "recipientPhone": "+255754777002", "recipientName": "Asha"},
    ]
    made = await shop("POST", "/v1/payments/disburse/batches", {"name": "Mishahara", "items": items})
    assert made.status == 201, made.body
    return str(made.body["batch"]["id"])


async def _draft(owner: Surfer) -> str:
    form = aiohttp.FormData()
    form.add_field("token", owner.token)
    content = b"Jina,Simu,Mtandao,Kiasi\nAsha,754777002,M-Pesa,1000\nBaraka,7.54E+08,,100\nAsha,0754777002,Tigo,1000\nJumla,,,9\n"
    form.add_field("file", io.BytesIO(content), filename="mishahara.csv", content_type="text/csv")
    sent = owner.headers | {"Origin": owner.url, "Sec-Fetch-Site": "same-origin"}
    url = f"{owner.url}/dashboard/batches/new"
    async with owner.http.post(url, data=form, headers=sent, allow_redirects=False) as answer:
        assert answer.status == 303
        return answer.headers["Location"].rpartition("/")[2]


async def _endpoints(owner: Surfer, url: str) -> tuple[str, str]:
    calm = await _add(owner, "webhooks", url="https://duka.example.co.tz/malipo", events="payment.cancelled")
    endpoint = await _add(owner, "webhooks", url=url, events="payment.completed")
    assert (await owner.post(f"/dashboard/webhooks/{endpoint}/rotate")).status < 400
    return calm, endpoint


async def _add(owner: Surfer, what: str, **fields: str) -> str:
    """The id of what is new in the list."""
    before = await _ids(owner, what)
    assert (await owner.post(f"/dashboard/{what}", fields)).status == 201
    (new,) = await _ids(owner, what) - before
    return new


async def _ids(owner: Surfer, what: str) -> set[str]:
    return set(re.findall(rf'/dashboard/{what}/(\w+_\w+)[/"]', (await owner.get(f"/dashboard/{what}")).text))

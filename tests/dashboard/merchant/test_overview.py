"""/dashboard: figures that say what they count, what needs attention, first steps, and the latest payments."""

import dataclasses
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from msgspec.structs import replace
from starlette.requests import Request

from malipo import clock, ids
from malipo.app.assemble import Service
from malipo.dashboard.language import Translator
from malipo.dashboard.merchant import overview
from malipo.dashboard.merchant.overview import OverviewData
from malipo.dashboard.merchant.payment_statistics import duration, percent, tenths_of
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.parts import PageParts
from malipo.db import Database
from malipo.http.accept_language import Language
from malipo.ledger.wallet import Wallet
from malipo.merchants.api_keys import Environment, StoredKey
from malipo.merchants.roles import Role
from malipo.merchants.store.sessions import MerchantSession
from malipo.networks.circuit_store import Outage
from malipo.networks.connector import Channel
from malipo.outbox.daily_totals import Total
from malipo.payments.status_writer import StatusChange
from malipo.payments.transaction import Cause, Transaction, Type
from malipo.webhooks.endpoint import Endpoint
from tests.conftest import Merchant, Running, make_merchant
from tests.dashboard.page_client import Seen, Surfer, add_person, surfing
from tests.journeys.concurrency import order
from tests.status_changes import change_status

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
TODAY = date(2026, 11, 15)
ENGLISH = Translator(Language.ENGLISH)


@dataclass
class Shop:
    """A merchant, and the page as its owner sees it at a time."""

    service: Service
    merchant: Merchant
    session: MerchantSession

    async def page(self, query: str = "", *, now: datetime = NOW) -> Seen:
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/dashboard",
            "query_string": query.encode(),
            "headers": [(b"host", b"pay.example")],
            "scheme": "http",
            "server": ("pay.example", 80),
            "client": ("127.0.0.1", 1),
        }
        parts = dataclasses.replace(PageParts.of(self.service), clock=lambda: now)
        response = await overview.show(
            MerchantRequest(parts=parts, http=Request(scope), words=ENGLISH, address="127.0.0.1", session=self.session)
        )
        return Seen(response.status_code, bytes(response.body).decode(), response.headers)

    async def total(self, day: date, type_: Type, channel: Channel, total: Total) -> None:
        async with self.service.queries.database.begin() as tx:
            await tx.execute(
                "INSERT INTO daily_totals VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
                *(self.merchant.id, day, type_, channel),
                *(getattr(total, name) for name in Total.__slots__),
            )

    async def pay(self, type_: Type, *, at: datetime = NOW, **values: Any) -> Transaction:
        asked = order(self.merchant.id, type_, 1000)
        assert asked.draft is not None
        draft = replace(asked.draft, created_at=at, id=ids.mint("txn_", at), **values)
        return (await self.service.payments.initiate(replace(asked, draft=draft))).transaction


@pytest.fixture
async def shop(service: Service, database: Database) -> Shop:
    merchant = await make_merchant(database, wallet=1_000_000, name="Duka la Asha")
    person = await add_person(database, merchant.id, f"{merchant.id}@duka.example")
    return Shop(service, merchant, MerchantSession("ses_1", person, "Duka la Asha", clock.now(), clock.now()))


@pytest.fixture
async def surfer(running: Running, shop: Shop) -> AsyncIterator[Surfer]:
    async with surfing(running.url) as surfer:
        await surfer.log_in(shop.session.person.email)
        yield surfer


def figures(seen: Seen) -> dict[str, str]:
    """Each figure by what it is called, with what it says it counts."""
    found = re.findall(r'<section class="card figure(?: till)?"[^>]*>(.*?)</section>', seen.text, re.DOTALL)
    parts = [dataclasses.replace(seen, text=each).words.strip() for each in found]
    return {name: part for part in parts for name in [part.split(" TZS")[0]]}


async def test_today_is_the_day_of_dar_es_salaam_and_each_figure_says_what_it_counts(shop: Shop) -> None:
    await shop.pay(Type.COLLECTION)
    await shop.total(TODAY, Type.COLLECTION, Channel.MPESA, Total(completed=3, amount=70_000, failed=2))
    await shop.total(TODAY, Type.COLLECTION, Channel.HALOPESA, Total(completed=1, amount=5_000))
    await shop.total(TODAY, Type.DISBURSEMENT, Channel.MPESA, Total(completed=1, amount=20_000))
    await shop.total(TODAY - timedelta(days=1), Type.COLLECTION, Channel.MPESA, Total(completed=9, amount=900_000))
    seen = figures(await shop.page())
    assert seen["In today"] == (
        "In today TZS 75,000 4 collections completed since midnight, before fees. Yesterday: TZS 900,000"
    )
    assert seen["Out today"] == (
        "Out today TZS 20,000 1 payout completed since midnight, before fees. Yesterday: TZS 0"
    )
    # Nine in the evening in UTC is midnight at the shop.
    last_moment, midnight = (datetime(2026, 11, 15, 20, 59, 59, tzinfo=UTC), datetime(2026, 11, 15, 21, tzinfo=UTC))
    assert "TZS 75,000" in figures(await shop.page(now=last_moment))["In today"]
    assert "TZS 0 0 collections" in figures(await shop.page(now=midnight))["In today"]
    assert "Yesterday: TZS 75,000" in figures(await shop.page(now=midnight))["In today"]


async def test_the_wallet_shows_what_may_be_spent_and_what_is_set_aside(shop: Shop) -> None:
    await shop.pay(Type.DISBURSEMENT, amount=250_000)
    seen = figures(await shop.page())
    assert seen["Available in the wallet"].startswith("Available in the wallet TZS 750,000")
    assert "Reserved for payouts that have not ended: TZS 250,000." in seen["Available in the wallet"]
    order = [
        (await shop.page()).text.index(each) for each in ('id="balance"', 'id="today"', 'id="latest"', 'id="time"')
    ]
    assert order == sorted(order), "what a till needs comes first"


@pytest.mark.parametrize(
    ("query", "came", "days"),
    [("", 1_100, 30), ("days=7", 100, 7), ("days=30", 1_100, 30), ("days=90", 11_100, 90), ("days=31;--", 1_100, 30)],
)
async def test_a_span_counts_its_days_and_no_other(shop: Shop, query: str, came: int, days: int) -> None:
    await shop.pay(Type.COLLECTION)
    for back, amount in ((6, 100), (7, 1_000), (30, 10_000), (89, 0), (90, 100_000)):
        total = Total(completed=1, amount=amount)
        await shop.total(TODAY - timedelta(days=back), Type.COLLECTION, Channel.MPESA, total)
    seen = await shop.page(query)
    assert f"Came in TZS {came:,} " in seen.words
    assert len(re.findall(r'<th scope="row" class="nowrap">', seen.text)) == days
    assert f'?days={days}#time" aria-current="page"' in seen.text


async def test_channels_show_their_success_rate_and_how_long_they_take(shop: Shop) -> None:
    await shop.pay(Type.COLLECTION)
    for back in (0, 1):
        day = TODAY - timedelta(days=back)
        total = Total(completed=100, failed=1, cancelled=50, amount=500, total_seconds=4_550.0)
        await shop.total(day, Type.COLLECTION, Channel.AIRTEL_MONEY, total)
    await shop.total(TODAY, Type.DISBURSEMENT, Channel.AIRTEL_MONEY, Total(failed=4))
    seen = await shop.page()
    assert "Airtel Money Collections TZS 1,000 200 / 2 99% 99% 46 s" in seen.words
    assert "Airtel Money Payouts TZS 0 0 / 4 – –" in seen.words, "of four payments a rate says nothing"
    assert "M-Pesa Payouts" not in seen.words
    assert re.findall(r'class="fill" width="(\d+)"', seen.text) == ["99"]


async def test_the_chart_has_the_same_figures_as_the_table_beside_it(shop: Shop) -> None:
    await shop.pay(Type.COLLECTION)
    await shop.total(TODAY, Type.COLLECTION, Channel.MPESA, Total(completed=14, amount=70_000, fees=70, failed=5))
    await shop.total(TODAY, Type.DISBURSEMENT, Channel.MPESA, Total(completed=1, amount=5_000, fees=30, cancelled=4))
    seen = await shop.page()
    money, rate = (json.loads(unescape(each)) for each in re.findall(r'data-tips="([^"]*)"', seen.text))
    assert (len(money), money[-1]) == (30, "15 Nov 2026: TZS 70,000 in, TZS 5,000 out")
    assert "15 Nov 2026 70,000 5,000 100 15 5 4" in seen.words
    assert "Total 70,000 5,000 100 15 5 4" in seen.words
    assert "From 17 Oct 2026 to 15 Nov 2026: TZS 70,000 came in and TZS 5,000 went out." in seen.words
    assert (len(rate), rate[-1]) == (30, "15 Nov 2026: 75%")


async def test_a_success_rate_of_few_payments_is_not_shown(shop: Shop) -> None:
    await shop.pay(Type.COLLECTION)
    await shop.total(TODAY, Type.COLLECTION, Channel.MPESA, Total(completed=12, failed=7, cancelled=100))
    assert "Success rate, day by day" not in (await shop.page()).text


async def test_somebody_new_is_shown_the_first_steps_and_nothing_else(shop: Shop) -> None:
    seen = await shop.page()
    assert "Take a payment now" in seen.words
    assert seen.text.index("Take a payment now") < seen.text.index('<details class="card door">'), "folded, and second"
    assert "curl http://pay.example/v1/payments" in seen.words
    assert "Make an API key : done" in seen.words  # the merchant has a key already
    assert "Register a webhook : done" not in seen.words
    assert "Over time" not in seen.words
    await shop.pay(Type.COLLECTION)
    seen = await shop.page()
    assert "Take a payment now" not in seen.words
    assert "Nothing ended in these days" in seen.words


async def test_the_latest_ten_payments_stand_newest_first(shop: Shop) -> None:
    made = [await shop.pay(Type.COLLECTION, at=NOW + timedelta(seconds=at)) for at in range(12)]
    seen = await shop.page()
    assert re.findall(r'<tr id="(txn_\w+)">', seen.text) == [each.id for each in made[:1:-1]]
    assert 'data-live="latest"' in seen.text


async def test_nothing_of_another_merchant_is_shown(shop: Shop, service: Service, database: Database) -> None:
    other = dataclasses.replace(shop, merchant=await make_merchant(database, wallet=77_777))
    await other.pay(Type.DISBURSEMENT, amount=11_111, name="Somebody Else", at=NOW - timedelta(hours=5))
    await other.total(TODAY, Type.COLLECTION, Channel.MPESA, Total(completed=3, amount=33_333))
    await shop.pay(Type.COLLECTION)
    seen = (await shop.page()).words
    assert not [each for each in ("Somebody", "33,333", "66,666", "11,111", "77,777") if each in seen]


async def test_payouts_that_take_long_and_deliveries_that_failed_are_found(shop: Shop) -> None:
    slow = await shop.pay(Type.DISBURSEMENT, at=NOW - timedelta(hours=3))
    await shop.pay(Type.DISBURSEMENT, at=NOW - timedelta(hours=3))  # not sent yet
    past = dataclasses.replace(shop.service, clock=lambda: NOW - timedelta(hours=2))
    change = StatusChange(merchant_id=shop.merchant.id, transaction_id=slow.id, cause=Cause.SUBMITTED)
    await change_status(past, change)
    async with shop.service.queries.database.begin() as tx:
        await tx.execute(
            "INSERT INTO webhook_endpoints (id, merchant_id, url, events, secret, created_at) VALUES ($1, $2, $3, $4, $5, $6)",
            *(
                f"wh_{shop.merchant.id}",
                shop.merchant.id,
                "https://<b>duka.example/in",
                ["payment.completed"],
                b"x",
                NOW,
            ),
        )
        test = "A test has its body with it, and does not count."
        exhausted = [(1, None), (100, None), (170, None), (2, test)]
        for hours, state, body in [*((hours, "EXHAUSTED", body) for hours, body in exhausted), (1, "PENDING", None)]:
            await tx.execute(
                "INSERT INTO webhook_deliveries (endpoint_id, event_id, merchant_id, event, state, due_at, body)"
                " VALUES ($1, $2, $3, 'payment.completed', $4, $5, $6)",
                *(
                    f"wh_{shop.merchant.id}",
                    ids.mint("evt_", NOW - timedelta(hours=hours)),
                    shop.merchant.id,
                    state,
                    NOW,
                    body,
                ),
            )
    seen = await shop.page()
    assert f'<a href="/dashboard/transactions/{slow.id}">See the payout</a>' in seen.text
    failed = "were not delivered in the last 7 days, and are not tried again by themselves."
    assert f"2 webhooks to <b>duka.example {failed}" in seen.words
    assert "<b>duka" not in seen.text
    assert "processing for more than an hour" not in (await shop.page(now=NOW - timedelta(minutes=61))).words


def endpoint(**values: Any) -> Endpoint:
    whole: dict[str, Any] = {"id": "wh_1", "merchant_id": "m", "url": "https://duka.example/in", "events": []}
    return Endpoint(**whole | {"is_active": True, "secret": b"", "created_at": NOW} | values)


def key(expires_at: datetime | None) -> StoredKey:
    return StoredKey("key_1", "m", "Till", "mlp_live_", "abcd", Environment.LIVE, (), (), NOW, expires_at, None)


SINCE = NOW - timedelta(hours=1)
ROUTES: dict[tuple[Channel, Type], str] = {
    (Channel.MPESA, Type.COLLECTION): "mpesa",
    (Channel.MPESA, Type.DISBURSEMENT): "mpesa",
    (Channel.HALOPESA, Type.COLLECTION): "halopesa",
    (Channel.HALOPESA, Type.DISBURSEMENT): "clickpesa",
}
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("seen", "wanted"),
    [
        ({}, {}),
        ({"down": {"mpesa": Outage(SINCE, "", 0, False)}}, {"down": [("MPESA", SINCE)]}),
        ({"down": {"clickpesa": Outage(SINCE, "", 0, False)}}, {"down": [("HALOPESA", SINCE)]}),
        ({"down": {"tigo_pesa": Outage(SINCE, "", 0, False)}}, {}),  # carries nothing of ours
        ({"endpoints": [endpoint()]}, {}),
        ({"endpoints": [endpoint(failing_since=SINCE)]}, {"failing": [("duka.example", SINCE)]}),
        ({"endpoints": [endpoint(failing_since=SINCE, is_active=False)]}, {}),  # its owner has paused it
        (
            {"endpoints": [endpoint(failing_since=SINCE, is_active=False, disabled_at=SINCE)]},
            {"disabled": [("duka.example", SINCE)]},
        ),
        ({"endpoints": [endpoint()], "undelivered": {"wh_1": 3}}, {"undelivered": [("duka.example", 3)]}),
        ({"slow": [("txn_1", SINCE)]}, {"slow": [("txn_1", SINCE)]}),
        ({"keys": [key(None)]}, {}),
        ({"keys": [key(NOW + 14 * DAY)]}, {"expiring": [key(NOW + 14 * DAY)]}),
        ({"keys": [key(NOW + 14 * DAY + DAY / 24)]}, {}),
        ({"keys": [key(NOW)]}, {"expired": [key(NOW)]}),
        ({"keys": [key(NOW - 15 * DAY)]}, {}),
    ],
)
def test_what_needs_attention(seen: dict[str, Any], wanted: dict[str, Any]) -> None:
    nothing: dict[str, Any] = {"totals": {}, "latest": [], "endpoints": [], "undelivered": {}, "slow": [], "keys": []}
    looked = OverviewData(**nothing | {"down": {}, "wallet": Wallet("m", 0, 0, 0)} | seen)
    found = overview.attention(looked, ROUTES, NOW)
    assert {name: value for name in found.__slots__ if (value := getattr(found, name))} == wanted
    assert bool(found) is bool(wanted)


@pytest.mark.parametrize(
    ("total", "words"),
    [
        (Total(), "–"),
        (Total(cancelled=5), "–"),
        (Total(completed=1), "100%"),
        (Total(completed=9_999, failed=1), "99.9%"),
        (Total(completed=2, failed=1), "67%"),
        (Total(completed=1, failed=1, cancelled=7), "50%"),
        (Total(failed=3), "0%"),
    ],
)
def test_a_success_rate_counts_what_was_tried_and_is_never_flattered(total: Total, words: str) -> None:
    assert percent(tenths_of(total)) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (200, "3 min 20 s"),
        (3_600, "1 h 0 min"),
        (9_000, "2 h 30 min"),
    ],
)
def test_a_time_is_said_in_units_of_its_size(seconds: float, words: str) -> None:
    assert duration(ENGLISH, seconds) == words


async def test_the_page_is_there_for_whoever_may_look(running: Running, shop: Shop, surfer: Surfer) -> None:
    await shop.pay(Type.COLLECTION, at=clock.now(), name="<i>Juma")
    seen = await surfer.get("/dashboard?days=7")
    assert seen.status == 200
    assert "&lt;i&gt;Juma" in seen.text
    assert " style=" not in seen.text
    await add_person(shop.service.queries.database, shop.merchant.id, f"v-{shop.merchant.id}@duka.example", Role.VIEWER)
    async with surfing(running.url) as viewer:
        assert (await viewer.get("/dashboard")).to.startswith("/dashboard/login")
        await viewer.log_in(f"v-{shop.merchant.id}@duka.example")
        assert (await viewer.get("/dashboard")).status == 200

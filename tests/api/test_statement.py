"""The statement: every line with the balance after it, as JSON and as CSV; prices and channels."""

import csv
import io
from datetime import timedelta

import aiohttp
import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.db import Database
from malipo.ledger.bookings import BookingKind, book
from malipo.payments.status_writer import StatusChange
from malipo.payments.transaction import Cause
from tests.conftest import COLLECTION, PAYOUT, Client, Merchant
from tests.status_changes import change_status


async def _a_day(api: Client, service: Service, database: Database, merchant: Merchant) -> list[str]:
    """A top-up of 1,000,000 was there. A collection, a payout that is cancelled, one that stays, a settlement."""
    async with database.begin() as tx:
        await tx.execute(
            "INSERT INTO tariffs VALUES ($1, 'COLLECTION', 'MPESA', 500, 30, 0, 0, NULL)",
            merchant.id,
        )
    collection = (await api("POST", "/v1/payments", COLLECTION)).body["transaction"]["id"]
    for cause in (Cause.SUBMITTED, Cause.CONFIRMED):
        await change_status(service, StatusChange(merchant_id=merchant.id, transaction_id=collection, cause=cause))
    cancelled = (await api("POST", "/v1/payments/disburse", PAYOUT)).body["transaction"]["id"]
    await api("POST", f"/v1/payments/{cancelled}/cancel")
    stays = (await api("POST", "/v1/payments/disburse", PAYOUT | {"amount": 5000})).body["transaction"]["id"]
    async with database.begin() as tx:
        await book(tx, BookingKind.SETTLEMENT, merchant.id, 10_000, reference=f"NMB {merchant.id}", now=clock.now())
    return [collection, cancelled, stays]


EXPECTED = [
    (1, "TOP_UP", 1_000_000, 1_000_000),
    (2, "COLLECTION", 970, 1_000_970),
    (3, "PAYOUT", -1000, 999_970),
    (4, "PAYOUT_RETURNED", 1000, 1_000_970),
    (5, "PAYOUT", -5000, 995_970),
    (6, "SETTLEMENT", -10_000, 985_970),
]


async def test_every_line_has_the_balance_after_it_newest_first(
    api: Client, service: Service, database: Database, merchant: Merchant
) -> None:
    transactions = await _a_day(api, service, database, merchant)
    answer = await api("GET", "/v1/wallet/entries")
    lines = answer.body["entries"]
    assert [(line["line"], line["kind"], line["amount"], line["balanceAfter"]) for line in lines] == EXPECTED[::-1]
    assert all(
        set(line) == {"line", "kind", "amount", "balanceAfter", "causeId", "reference", "createdAt"} for line in lines
    )
    assert [line["causeId"] for line in lines[1:5]] == [
        transactions[2], transactions[1], transactions[1], transactions[0],
    ]  # fmt: skip
    assert lines[0]["reference"] == f"NMB {merchant.id}"
    shown = await api("GET", f"/v1/payments/{transactions[2]}")
    assert lines[1]["reference"] == shown.body["transaction"]["reference"]
    assert answer.body["pagination"] == {"total": 6, "page": 1, "limit": 20, "pages": 1}


async def test_pages_kinds_and_ranges(api: Client, service: Service, database: Database, merchant: Merchant) -> None:
    await _a_day(api, service, database, merchant)
    second = (await api("GET", "/v1/wallet/entries?limit=4&page=2")).body
    assert [line["line"] for line in second["entries"]] == [2, 1]
    assert second["pagination"] == {"total": 6, "page": 2, "limit": 4, "pages": 2}
    payouts = (await api("GET", "/v1/wallet/entries?kind=PAYOUT")).body
    assert [line["line"] for line in payouts["entries"]] == [5, 3]
    assert payouts["pagination"]["total"] == 2
    tomorrow = (clock.now() + timedelta(days=1)).date()
    assert (await api("GET", f"/v1/wallet/entries?from={tomorrow}")).body["entries"] == []
    assert (await api("GET", f"/v1/wallet/entries?to={tomorrow}")).body["pagination"]["total"] == 6


@pytest.mark.parametrize("query", ["", "&kind=PAYOUT"])
async def test_the_csv_says_the_same_oldest_first(
    api: Client, service: Service, database: Database, merchant: Merchant, query: str
) -> None:
    await _a_day(api, service, database, merchant)
    shown = (await api("GET", f"/v1/wallet/entries?limit=100{query}")).body["entries"]
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{api.url}/v1/wallet/entries?format=csv{query}", headers={"x-api-key": api.key or ""}) as answer,
    ):
        assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
        assert "statement.csv" in answer.headers["Content-Disposition"]
        rows = list(csv.DictReader(io.StringIO(await answer.text())))
    assert rows == [{name: str(value) for name, value in line.items()} for line in reversed(shown)]


async def test_a_banks_reference_is_no_formula_in_the_csv_and_what_went_out_is_a_number(
    api: Client, database: Database, merchant: Merchant
) -> None:
    evil = f'=HYPERLINK("http://evil.example","{merchant.id}")'
    async with database.begin() as tx:
        await book(tx, BookingKind.SETTLEMENT, merchant.id, 5000, reference=evil, now=clock.now())
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{api.url}/v1/wallet/entries?format=csv", headers={"x-api-key": api.key or ""}) as answer,
    ):
        last = list(csv.DictReader(io.StringIO(await answer.text())))[-1]
    assert (last["reference"], last["amount"]) == (f"'{evil}", "-5000")


async def test_a_long_statement_comes_whole(api: Client, database: Database, merchant: Merchant) -> None:
    """More lines than one look at the database brings."""
    for n in range(2500):
        async with database.begin() as tx:
            await tx.execute("SET LOCAL synchronous_commit = off")
            await book(tx, BookingKind.TOP_UP, merchant.id, 1, reference=f"{merchant.id} {n}", now=clock.now())
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{api.url}/v1/wallet/entries?format=csv", headers={"x-api-key": api.key or ""}) as answer,
    ):
        rows = list(csv.DictReader(io.StringIO(await answer.text())))
    assert [int(row["line"]) for row in rows] == list(range(1, 2502))
    assert [int(row["balanceAfter"]) for row in rows] == [1_000_000 + n for n in range(2501)]


async def test_all_bad_parameters_are_named_at_once(api: Client) -> None:
    answer = await api("GET", "/v1/wallet/entries?kind=GIFT&format=xml&from=x&page=0&limit=101")
    assert answer.status == 400
    assert set(answer.body["details"]) == {"kind", "format", "from", "page", "limit"}


async def test_a_quote_is_what_the_payment_then_costs_and_creates_nothing(
    api: Client, database: Database, merchant: Merchant
) -> None:
    async with database.begin() as tx:
        await tx.execute(
            "INSERT INTO tariffs VALUES ($1, 'DISBURSEMENT', 'AIRTEL_MONEY', 500, 50, 100, 0, NULL)", merchant.id
        )
    body = {"type": "DISBURSEMENT", "amount": 2000, "channel": "AIRTEL_MONEY"}
    quote = await api("POST", "/v1/payments/quote", body)
    assert quote.body == {
        "success": True,
        "quote": body | {"fee": 70, "netAmount": 2000, "totalAmount": 2070},
    }
    assert (await api("GET", "/v1/payments")).body["pagination"]["total"] == 0
    paid = await api("POST", "/v1/payments/disburse", PAYOUT | {"amount": 2000})
    assert paid.body["transaction"]["fee"] == 70
    assert (await api("GET", "/v1/wallet")).body["wallet"]["reserved"] == 2070
    bad = await api("POST", "/v1/payments/quote", {"type": "GIFT", "amount": "1"})
    assert set(bad.body["details"]) == {"type", "amount", "channel"}


async def test_channels_say_their_limits_and_prefixes(api: Client) -> None:
    channels = (await api("GET", "/v1/channels")).body["channels"]
    assert [each["channel"] for each in channels] == ["MPESA", "TIGO_PESA", "AIRTEL_MONEY", "HALOPESA"]
    assert all(set(each) == {"channel", "name", "minAmount", "maxAmount", "prefixes", "isUp"} for each in channels)
    assert all((each["minAmount"], each["maxAmount"]) == (500, 10_000_000) for each in channels)
    prefixes = [prefix for each in channels for prefix in each["prefixes"]]
    assert len(prefixes) == len(set(prefixes))

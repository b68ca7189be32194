"""An operator's day: a merchant, a key, a tariff, a top-up; and the trail that all of it leaves."""

import json
from collections.abc import Callable
from typing import Any

import aiohttp

from tests.conftest import COLLECTION, NO_LIMITS, PAYOUT, Client, Running, until_ready
from tests.journeys.operator_commands import run_command as malipo

PrintedJson = Callable[..., Any]


async def test_every_number_of_a_new_merchants_first_day_adds_up(
    start: Callable[..., Running], database_url: str
) -> None:
    def json_of(*arguments: str, **settings: str) -> Any:
        done = malipo(*arguments, "--json", database_url=database_url, **settings)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    json_of("operators", "add", "Asha@example.com")
    asha = {"operator": "asha@example.com"}
    merchant = json_of("merchant", "create", "Duka la Juma", **asha)["id"]
    key = json_of("key", "create", merchant, "--name", "till", "--alone", **asha)["key"]
    tariff = json_of("tariff", "set", merchant, "--type", "COLLECTION", "--band", "500:0:150:20", **asha)
    assert tariff["bands"] == [{"from_amount": 500, "fixed": 0, "basis_points": 150, "least": 20, "most": None}]
    json_of(
        "tariff", "set", merchant, "--type", "DISBURSEMENT", "--channel", "AIRTEL_MONEY", "--band", "500:50:0", **asha
    )
    first = json_of("wallet", "top-up", merchant, "100,000", "--reference", "NMB-77", **asha)
    again = json_of("wallet", "top-up", merchant, "100000", "--reference", "NMB-77", **asha)
    assert (first["isNew"], again["isNew"], again["available"]) == (True, False, 100_000)

    running = await until_ready(start("api", database_url=database_url, **NO_LIMITS))
    async with aiohttp.ClientSession() as http:
        client = Client(http, running.url, key)
        quote = await client("POST", "/v1/payments/quote", {"type": "COLLECTION", "amount": 1000, "channel": "MPESA"})
        collection = await client("POST", "/v1/payments", COLLECTION)
        payout = await client("POST", "/v1/payments/disburse", PAYOUT | {"amount": 20_000})
        wallet = await client("GET", "/v1/wallet")
        statement = await client("GET", "/v1/wallet/entries")
    assert quote.body["quote"]["fee"] == collection.body["transaction"]["fee"] == 20
    assert (quote.body["quote"]["netAmount"], quote.body["quote"]["totalAmount"]) == (980, 1000)
    assert payout.body["transaction"]["fee"] == 50
    assert (wallet.body["wallet"]["available"], wallet.body["wallet"]["reserved"]) == (79_950, 20_050)
    assert [(each["kind"], each["amount"], each["balanceAfter"]) for each in statement.body["entries"]] == [
        ("PAYOUT", -20_050, 79_950),
        ("TOP_UP", 100_000, 100_000),
    ]

    settled = json_of("wallet", "settle", merchant, "79950", "--reference", "NMB-78", **asha)
    assert settled["available"] == 0
    assert json_of("ledger", "check")["isClean"]
    trail = json_of("audit", "--merchant", merchant)
    assert [deed["what"] for deed in reversed(trail)] == [
        "merchant.created",
        "api_key.created",
        "tariff.set",
        "tariff.set",
        "wallet.top_up",
        "wallet.settlement",
    ]
    assert {deed["who"] for deed in trail} == {"operator asha@example.com"}
    assert all(deed["from"] for deed in trail)
    assert key not in json.dumps(trail)


async def test_a_deactivated_merchant_is_stopped_and_an_activated_one_goes_on(
    start: Callable[..., Running], database_url: str
) -> None:
    merchant = json.loads(malipo("merchant", "create", "Duka", "--json", database_url=database_url).stdout)["id"]
    key = json.loads(malipo("key", "create", merchant, "--json", database_url=database_url).stdout)["key"]
    running = await until_ready(start("api", database_url=database_url, **NO_LIMITS))
    async with aiohttp.ClientSession() as http:
        client = Client(http, running.url, key)
        assert (await client("GET", "/v1/wallet")).status == 200
        assert malipo("merchant", "deactivate", merchant, database_url=database_url).returncode == 0
        stopped = await client("GET", "/v1/wallet")
        assert (stopped.status, stopped.code) == (403, "merchant_inactive")
        assert malipo("merchant", "activate", "Duka", database_url=database_url).returncode == 0
        assert (await client("GET", "/v1/wallet")).status == 200


async def test_tables_are_for_people(database_url: str) -> None:
    assert "no merchants" in malipo("merchant", "list", database_url=database_url).stdout
    malipo("merchant", "create", "Duka la Mama", database_url=database_url)
    lines = malipo("merchant", "list", database_url=database_url).stdout.splitlines()
    assert lines[0].split() == ["id", "name", "active", "created"]
    assert "Duka la Mama" in lines[1]

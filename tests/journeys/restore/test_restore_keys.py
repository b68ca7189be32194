"""Network keys that are derived: the same request is the same payment, whatever the database has forgotten."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from malipo.installation import store as installation
from malipo.installation.network_keys import derive
from tests.conftest import make_merchant, until_ready
from tests.journeys import witness
from tests.journeys.restored import a_host, operate, pay
from tests.journeys.town import Town, founded, until

PHONE = "+255684000001"


@pytest.fixture
async def town(tmp_path: Path, database_url: str) -> AsyncIterator[Town]:
    async with founded(tmp_path, database_url) as town:
        yield town


async def _key(town: Town, merchant_id: str, type_: str, key: str) -> str:
    async with town.database.read() as connection:
        return derive((await installation.get(connection)).key_secret, merchant_id, type_, key)


async def _network_keys(town: Town) -> list[str]:
    async with town.database.read() as connection:
        return [row["network_key"] for row in await connection.fetch("SELECT network_key FROM transactions")]


async def _forget_key(town: Town, key: str) -> None:
    async with town.database.begin() as tx:
        assert await tx.execute("DELETE FROM idempotency_keys WHERE key = $1", key) == "DELETE 1"


async def test_two_merchants_and_two_routes_with_one_key_are_three_payments(town: Town) -> None:
    other = await make_merchant(town.database, wallet=1_000_000, name="Soko")
    body = {"amount": 1000, "channel": "AIRTEL_MONEY", "recipientPhone": PHONE}
    headers = {"Idempotency-Key": "order-1"}
    assert (await pay(town, "AIRTEL_MONEY", PHONE, "order-1")).status == 201
    assert (await pay(town, "AIRTEL_MONEY", PHONE, "order-1", type_="COLLECTION")).status == 201
    assert (await town.api.as_(other.key)("POST", "/v1/payments/disburse", body, headers=headers)).status == 201
    expected = {
        await _key(town, town.merchant.id, "DISBURSEMENT", "order-1"),
        await _key(town, town.merchant.id, "COLLECTION", "order-1"),
        await _key(town, other.id, "DISBURSEMENT", "order-1"),
    }
    assert len(expected) == 3
    assert sorted(await _network_keys(town)) == sorted(expected)


async def test_a_request_whose_key_was_forgotten_is_answered_with_the_payment_that_is_there(town: Town) -> None:
    first = await pay(town, "AIRTEL_MONEY", PHONE, "order-1")
    before = await witness.wallet(town.database, town.merchant.id)
    await _forget_key(town, "order-1")
    again = await pay(town, "AIRTEL_MONEY", PHONE, "order-1")
    assert (again.status, again.body["transaction"]["id"]) == (first.status, first.body["transaction"]["id"])
    assert len(await _network_keys(town)) == 1
    assert await witness.wallet(town.database, town.merchant.id) == before
    await witness.assert_clean(town.database)


@pytest.mark.parametrize(
    ("channel", "phone", "amount"),
    [
        ("AIRTEL_MONEY", PHONE, 1001),
        ("AIRTEL_MONEY", "+255684000002", 1000),
        ("MPESA", "+255754000001", 1000),
    ],
    ids=["another amount", "another phone", "another channel"],
)
async def test_another_payment_under_a_key_that_was_forgotten_is_refused(
    town: Town, channel: str, phone: str, amount: int
) -> None:
    assert (await pay(town, "AIRTEL_MONEY", PHONE, "order-1")).status == 201
    await _forget_key(town, "order-1")
    assert (await pay(town, channel, phone, "order-1", amount)).status == 409
    assert len(await _network_keys(town)) == 1
    await witness.assert_clean(town.database)


async def test_a_derived_key_that_another_merchant_has_is_never_drawn_anew(town: Town) -> None:
    other = await make_merchant(town.database, wallet=1_000_000, name="Soko")
    body = {"amount": 1000, "channel": "AIRTEL_MONEY", "recipientPhone": PHONE}
    made = await town.api.as_(other.key)("POST", "/v1/payments/disburse", body)
    key = await _key(town, town.merchant.id, "DISBURSEMENT", "order-1")
    async with town.database.begin() as tx:
        await tx.execute(
            "UPDATE transactions SET network_key = $1, reference = 'MLP-' || $1 WHERE id = $2",
            key,
            made.body["transaction"]["id"],
        )
    assert (await pay(town, "AIRTEL_MONEY", PHONE, "order-1")).status == 409
    assert await _network_keys(town) == [key]


async def test_neither_a_new_tariff_nor_a_new_limit_makes_another_payment_of_a_request(
    town: Town, tmp_path: Path
) -> None:
    first = await pay(town, "AIRTEL_MONEY", PHONE, "order-1", 5000)
    said = await operate(town, None, "tariff", "set", town.merchant.id, "--type", "DISBURSEMENT", "--band", "0:300:0")
    assert said.code == 0, said.err
    town.api.url = (await _another_api(town, max_amount_airtel_money=2000)).rstrip("/")
    assert (await pay(town, "AIRTEL_MONEY", PHONE, "order-2", 5000)).status == 400, "the limit counts for what is new"
    again = await pay(town, "AIRTEL_MONEY", PHONE, "order-1", 5000)
    assert (again.status, again.body["transaction"]["id"]) == (201, first.body["transaction"]["id"])
    async with a_host(town, "none"):

        async def is_paid() -> bool:
            return PHONE in await town.moved()

        await until(is_paid, what="the payout")
    assert [each["amount"] for each in (await town.moved())[PHONE]] == [5000]


async def _another_api(town: Town, **settings: int) -> str:
    return (await until_ready(town.start("api", **settings))).url

"""Network keys that are derived: the same request is the same payment, whatever the database has forgotten."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from malipo.payments.network_keys import derive
from malipo.restore.store import installation
from tests.conftest import make_merchant, until_ready
from tests.journeys import database_facts
from tests.journeys.full_stack import FullStack, full_stack_started, until
from tests.journeys.restored_stack import a_host, operate, pay

PHONE = "+255684000001"


@pytest.fixture
async def full_stack(tmp_path: Path, database_url: str) -> AsyncIterator[FullStack]:
    async with full_stack_started(tmp_path, database_url) as full_stack:
        yield full_stack


async def _key(full_stack: FullStack, merchant_id: str, type_: str, key: str) -> str:
    async with full_stack.database.read() as connection:
        return derive((await installation.get(connection)).key_secret, merchant_id, type_, key)


async def _network_keys(full_stack: FullStack) -> list[str]:
    async with full_stack.database.read() as connection:
        return [row["network_key"] for row in await connection.fetch("SELECT network_key FROM transactions")]


async def _forget_key(full_stack: FullStack, key: str) -> None:
    async with full_stack.database.begin() as tx:
        assert await tx.execute("DELETE FROM idempotency_keys WHERE key = $1", key) == "DELETE 1"


async def test_two_merchants_and_two_routes_with_one_key_are_three_payments(full_stack: FullStack) -> None:
    other = await make_merchant(full_stack.database, wallet=1_000_000, name="Soko")
    body = {"amount": 1000, "channel": "AIRTEL_MONEY", "recipientPhone": PHONE}
    headers = {"Idempotency-Key": "order-1"}
    assert (await pay(full_stack, "AIRTEL_MONEY", PHONE, "order-1")).status == 201
    assert (await pay(full_stack, "AIRTEL_MONEY", PHONE, "order-1", type_="COLLECTION")).status == 201
    assert (await full_stack.api.as_(other.key)("POST", "/v1/payments/disburse", body, headers=headers)).status == 201
    expected = {
        await _key(full_stack, full_stack.merchant.id, "DISBURSEMENT", "order-1"),
        await _key(full_stack, full_stack.merchant.id, "COLLECTION", "order-1"),
        await _key(full_stack, other.id, "DISBURSEMENT", "order-1"),
    }
    assert len(expected) == 3
    assert sorted(await _network_keys(full_stack)) == sorted(expected)


async def test_a_request_whose_key_was_forgotten_is_answered_with_the_payment_that_is_there(
    full_stack: FullStack,
) -> None:
    first = await pay(full_stack, "AIRTEL_MONEY", PHONE, "order-1")
    before = await database_facts.wallet(full_stack.database, full_stack.merchant.id)
    await _forget_key(full_stack, "order-1")
    again = await pay(full_stack, "AIRTEL_MONEY", PHONE, "order-1")
    assert (again.status, again.body["transaction"]["id"]) == (first.status, first.body["transaction"]["id"])
    assert len(await _network_keys(full_stack)) == 1
    assert await database_facts.wallet(full_stack.database, full_stack.merchant.id) == before
    await database_facts.assert_clean(full_stack.database)


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
    full_stack: FullStack, channel: str, phone: str, amount: int
) -> None:
    assert (await pay(full_stack, "AIRTEL_MONEY", PHONE, "order-1")).status == 201
    await _forget_key(full_stack, "order-1")
    assert (await pay(full_stack, channel, phone, "order-1", amount)).status == 409
    assert len(await _network_keys(full_stack)) == 1
    await database_facts.assert_clean(full_stack.database)


async def test_a_derived_key_that_another_merchant_has_is_never_drawn_anew(full_stack: FullStack) -> None:
    other = await make_merchant(full_stack.database, wallet=1_000_000, name="Soko")
    body = {"amount": 1000, "channel": "AIRTEL_MONEY", "recipientPhone": PHONE}
    made = await full_stack.api.as_(other.key)("POST", "/v1/payments/disburse", body)
    key = await _key(full_stack, full_stack.merchant.id, "DISBURSEMENT", "order-1")
    async with full_stack.database.begin() as tx:
        await tx.execute(
            "UPDATE transactions SET network_key = $1, reference = 'MLP-' || $1 WHERE id = $2",
            key,
            made.body["transaction"]["id"],
        )
    assert (await pay(full_stack, "AIRTEL_MONEY", PHONE, "order-1")).status == 409
    assert await _network_keys(full_stack) == [key]


async def test_neither_a_new_tariff_nor_a_new_limit_makes_another_payment_of_a_request(
    full_stack: FullStack, tmp_path: Path
) -> None:
    first = await pay(full_stack, "AIRTEL_MONEY", PHONE, "order-1", 5000)
    said = await operate(
        full_stack, None, "tariff", "set", full_stack.merchant.id, "--type", "DISBURSEMENT", "--band", "0:300:0"
    )
    assert said.code == 0, said.err
    full_stack.api.url = (await _another_api(full_stack, max_amount_airtel_money=2000)).rstrip("/")
    assert (await pay(full_stack, "AIRTEL_MONEY", PHONE, "order-2", 5000)).status == 400, (
        "the limit counts for what is new"
    )
    again = await pay(full_stack, "AIRTEL_MONEY", PHONE, "order-1", 5000)
    assert (again.status, again.body["transaction"]["id"]) == (201, first.body["transaction"]["id"])
    async with a_host(full_stack, "none"):

        async def is_paid() -> bool:
            return PHONE in await full_stack.moved()

        await until(is_paid, what="the payout")
    assert [each["amount"] for each in (await full_stack.moved())[PHONE]] == [5000]


async def _another_api(full_stack: FullStack, **settings: int) -> str:
    return (await until_ready(full_stack.start("api", **settings))).url

"""/v1/wallet: what each status leaves in it, and what it refuses to pay."""

import asyncio

import pytest

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.ledger import check as ledger_check
from malipo.payments.check import transactions as transactions_check
from malipo.payments.transaction import Status
from tests.api.conftest import bring, created, total, wallet
from tests.api.response_fields import BODIES, moment
from tests.conftest import PAYOUT, Client, Merchant


async def test_the_wallet_has_exactly_its_fields(api: Client) -> None:
    answer = await api("GET", "/v1/wallet")

    assert answer.status == 200
    assert list(answer.body) == ["success", "wallet"]
    assert answer.body["success"] is True
    assert set(answer.body["wallet"]) == {"currency", "available", "reserved", "updatedAt"}
    assert answer.body["wallet"]["currency"] == "TZS"
    moment(answer.body["wallet"]["updatedAt"])


@pytest.mark.parametrize(
    ("type_", "status", "expected"),
    [
        ("COLLECTION", Status.PENDING, (1_000_000, 0)),
        ("COLLECTION", Status.PROCESSING, (1_000_000, 0)),
        ("COLLECTION", Status.COMPLETED, (1_001_000, 0)),
        ("COLLECTION", Status.FAILED, (1_000_000, 0)),
        ("COLLECTION", Status.CANCELLED, (1_000_000, 0)),
        ("DISBURSEMENT", Status.PENDING, (999_000, 1_000)),
        ("DISBURSEMENT", Status.PROCESSING, (999_000, 1_000)),
        ("DISBURSEMENT", Status.COMPLETED, (999_000, 0)),
        ("DISBURSEMENT", Status.FAILED, (1_000_000, 0)),
        ("DISBURSEMENT", Status.CANCELLED, (1_000_000, 0)),
    ],
)
async def test_the_wallet_holds_what_each_status_leaves_in_it(
    api: Client, service: Service, merchant: Merchant, type_: str, status: Status, expected: tuple[int, int]
) -> None:
    transaction = await created(api, BODIES[type_])

    await bring(service, merchant, transaction["id"], status)

    assert await wallet(api) == expected


async def test_a_payout_may_empty_the_wallet_and_not_go_beyond_it(api: Client) -> None:
    last = await api("POST", "/v1/payments/disburse", PAYOUT | {"amount": 1_000_000})
    more = await api("POST", "/v1/payments/disburse", PAYOUT | {"amount": 500})

    assert last.status == 201
    assert await wallet(api) == (0, 1_000_000)
    assert more.status == 400
    assert more.code == "insufficient_balance"
    assert set(more.body) == {"error", "details"}
    assert list(more.body["details"]) == ["amount"]
    assert [type(message) for message in more.body["details"]["amount"]] == [str]
    assert await total(api) == 1


async def test_a_refused_payout_leaves_no_trace_and_does_not_use_its_key_up(api: Client) -> None:
    headers = {"Idempotency-Key": "salary-7"}

    refused = await api("POST", "/v1/payments/disburse", PAYOUT | {"amount": 1_000_001}, headers=headers)
    assert refused.code == "insufficient_balance"
    assert await total(api) == 0
    assert await wallet(api) == (1_000_000, 0)
    taken = await api("POST", "/v1/payments/disburse", PAYOUT | {"amount": 5_000}, headers=headers)

    assert taken.status == 201
    assert "Idempotency-Replayed" not in taken.headers
    assert await wallet(api) == (995_000, 5_000)


async def test_payouts_at_once_never_spend_more_than_there_is(
    api: Client, database: Database, merchant: Merchant
) -> None:
    answers = await asyncio.gather(
        *(api("POST", "/v1/payments/disburse", PAYOUT | {"amount": 90_000}) for _ in range(30))
    )

    assert sorted(answer.status for answer in answers) == [201] * 11 + [400] * 19
    assert {answer.code for answer in answers if answer.status == 400} == {"insufficient_balance"}
    assert await wallet(api) == (10_000, 990_000)
    assert await total(api) == 11
    async with database.snapshot() as connection:
        assert [*await ledger_check.check(connection), *await transactions_check.check(connection)] == []

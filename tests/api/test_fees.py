"""Fees: a collection's fee is taken out of the amount, a payout's is charged on top."""

from typing import Any

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.payments.transaction import Status
from tests.api.conftest import bring, created, shown, wallet
from tests.conftest import COLLECTION, PAYOUT, Client, Merchant


async def test_a_collections_fee_is_taken_out_of_the_amount(
    api: Client, service: Service, database: Database, merchant: Merchant
) -> None:
    # 50 shillings and 1.25 %: of 1,001 that is 12.5125, so 63 in all.
    await set_tariff(database, merchant, "COLLECTION", "MPESA", fixed=50, basis_points=125)

    transaction = await created(api, COLLECTION | {"amount": 1001})
    await bring(service, merchant, transaction["id"], Status.COMPLETED)

    later = await shown(api, transaction["id"])
    assert (later["amount"], later["fee"], later["netAmount"]) == (1001, 63, 938)
    assert (transaction["amount"], transaction["fee"], transaction["netAmount"]) == (1001, 63, 938)
    assert await wallet(api) == (1_000_938, 0)


async def test_a_payouts_fee_is_debited_on_top(
    api: Client, service: Service, database: Database, merchant: Merchant
) -> None:
    await set_tariff(database, merchant, "DISBURSEMENT", "AIRTEL_MONEY", fixed=10, basis_points=150)

    transaction = await created(api, PAYOUT)

    assert (transaction["amount"], transaction["fee"], transaction["netAmount"]) == (1000, 25, 1000)
    assert await wallet(api) == (998_975, 1_025)
    await bring(service, merchant, transaction["id"], Status.COMPLETED)
    assert await wallet(api) == (998_975, 0)
    later = await shown(api, transaction["id"])
    assert (later["amount"], later["fee"], later["netAmount"]) == (1000, 25, 1000)


async def test_a_share_of_half_a_shilling_is_rounded_up(api: Client, database: Database, merchant: Merchant) -> None:
    await set_tariff(database, merchant, "COLLECTION", "MPESA", fixed=0, basis_points=50)  # 0.5 %

    fees = [(await created(api, COLLECTION | {"amount": amount}))["fee"] for amount in (500, 699, 700, 701)]

    assert fees == [3, 3, 4, 4]  # 2.5, 3.495, 3.5, 3.505


async def test_a_tariff_counts_for_its_type_channel_and_band_only(
    api: Client, database: Database, merchant: Merchant, stranger: Merchant
) -> None:
    await set_tariff(database, merchant, "COLLECTION", "MPESA", from_amount=1000, fixed=7)
    await set_tariff(database, merchant, "COLLECTION", "MPESA", from_amount=2000, basis_points=100, least=25, most=30)

    async def fee(body: dict[str, Any], client: Client = api) -> int:
        value: int = (await created(client, body))["fee"]
        return value

    assert await fee(COLLECTION | {"amount": 999}) == 0
    assert await fee(COLLECTION | {"amount": 1000}) == 7
    assert await fee(COLLECTION | {"amount": 1999}) == 7
    assert await fee(COLLECTION | {"amount": 2000}) == 25
    assert await fee(COLLECTION | {"amount": 2800}) == 28
    assert await fee(COLLECTION | {"amount": 9000}) == 30
    assert await fee(COLLECTION | {"channel": "HALOPESA"}) == 0
    assert await fee(PAYOUT | {"channel": "MPESA"}) == 0
    assert await fee(COLLECTION, api.as_(stranger.key)) == 0


async def test_the_fee_must_be_in_the_wallet_too(api: Client, database: Database, merchant: Merchant) -> None:
    await set_tariff(database, merchant, "DISBURSEMENT", "AIRTEL_MONEY", fixed=1)

    refused = await api("POST", "/v1/payments/disburse", PAYOUT | {"amount": 1_000_000})
    taken = await api("POST", "/v1/payments/disburse", PAYOUT | {"amount": 999_999})

    assert refused.code == "insufficient_balance"
    assert taken.status == 201
    assert await wallet(api) == (0, 1_000_000)


async def set_tariff(
    database: Database,
    merchant: Merchant,
    type_: str,
    channel: str,
    *,
    from_amount: int = 0,
    fixed: int = 0,
    basis_points: int = 0,
    least: int = 0,
    most: int | None = None,
) -> None:
    async with database.begin() as tx:
        await tx.execute(
            "INSERT INTO tariffs VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            *(merchant.id, type_, channel, from_amount, fixed, basis_points, least, most),
        )

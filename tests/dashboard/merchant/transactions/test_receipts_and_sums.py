"""The list of transactions, asked as a shop asks: by the receipt in the SMS, by day, and how much that makes."""

from datetime import date, timedelta

import pytest

from malipo import clock
from malipo.dashboard.merchant.date_presets import presets
from malipo.db import Database
from malipo.payments.listing import sums
from malipo.payments.listing.filters import TransactionFilter
from malipo.payments.listing.sums import Sums
from malipo.payments.transaction import Status, Type
from tests.dashboard.merchant.transactions.transaction_pages import PATH, TransactionPages
from tests.dashboard.merchant.transactions.transaction_pages import shop as shop
from tests.dashboard.merchant.transactions.transaction_pages import surfer as surfer


@pytest.mark.parametrize("typed", ["NET-42", "net-42", "+NET-42+"])
async def test_the_search_finds_the_receipt_of_the_network(shop: TransactionPages, typed: str) -> None:
    paid = await shop.make(status=Status.COMPLETED, name="Asha")
    await shop.make(status=Status.FAILED)
    assert await shop.listed(f"?search={typed}") == [paid.id]
    assert await shop.listed("?search=NET-4") == [], "a part of a receipt is not one"


async def test_a_row_has_the_phone_and_why_a_payment_failed(shop: TransactionPages) -> None:
    await shop.make(status=Status.FAILED, name="Asha Juma", phone="+255754000123")
    row = (await shop.surfer.get(PATH)).words
    assert "Asha Juma +255 754 000 123" in row
    assert "Failed The customer declined the payment." in row


async def test_a_filter_says_how_many_it_leaves_and_what_was_completed(shop: TransactionPages) -> None:
    for status in (Status.COMPLETED, Status.COMPLETED, Status.FAILED):
        await shop.make(status=status, name="Asha")
    await shop.make(Type.DISBURSEMENT, Status.COMPLETED, name="Baraka")
    today = (await shop.surfer.get(PATH)).text
    assert "sums-line" not in today, "of everything there is nothing to add up"
    for query, words in {
        "?search=asha": "3 transactions · completed: + TZS 2,000",
        "?status=COMPLETED": "3 transactions · completed: + TZS 2,000 − TZS 1,000",
        "?status=FAILED": "1 transaction ",
        "?type=REFUND": "0 transactions ",
    }.items():
        assert words in (await shop.surfer.get(PATH + query)).words.replace("+TZS", "+ TZS").replace("−TZS", "− TZS")


async def test_sums_read_only_so_many_payments_and_say_so(shop: TransactionPages, database: Database) -> None:
    for _ in range(3):
        await shop.make(status=Status.COMPLETED)
    async with database.snapshot() as connection:
        assert await sums.find(connection, shop.merchant.id, TransactionFilter(), most=2) == Sums(
            2, 2000, 0, is_cut=True
        )
        assert await sums.find(connection, shop.merchant.id, TransactionFilter(), most=3) == Sums(3, 3000, 0)


def test_presets_are_days_that_shops_ask_for() -> None:
    assert [each[1:] for each in presets(date(2026, 3, 1))] == [
        ("2026-03-01", "2026-03-01"),
        ("2026-02-28", "2026-02-28"),
        ("2026-02-23", "2026-03-01"),
        ("2026-03-01", "2026-03-01"),
        ("2026-02-01", "2026-02-28"),
        ("2026-01-01", "2026-03-01"),
        ("2025-01-01", "2025-12-31"),
    ]


async def test_a_preset_keeps_the_other_filters(shop: TransactionPages) -> None:
    made = await shop.make(status=Status.FAILED, at=clock.now() - timedelta(days=3))
    seen = await shop.surfer.get(f"{PATH}?status=FAILED")
    assert f"{PATH}?status=FAILED&amp;from=" in seen.text
    assert made.id in seen.text

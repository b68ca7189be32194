"""Top-ups and settlements: a bank reference is booked once."""

import asyncio

import pytest

from malipo import clock
from malipo.db import Database
from malipo.ledger import check as ledger_check
from malipo.ledger.bookings import BookingKind, ReferenceReused, WalletTooLow, book
from malipo.ledger.store import wallets as store
from tests.conftest import Merchant


async def _book(database: Database, kind: BookingKind, merchant: Merchant, amount: int, reference: str) -> bool:
    async with database.begin() as tx:
        return await book(tx, kind, merchant.id, amount, reference=reference, now=clock.now())


async def _available(database: Database, merchant: Merchant) -> int:
    async with database.read() as connection:
        assert await ledger_check.check(connection) == []
        return (await store.get(connection, merchant.id))[0].available


async def test_a_top_up_raises_the_wallet_and_a_settlement_lowers_it(database: Database, merchant: Merchant) -> None:
    assert await _book(database, BookingKind.TOP_UP, merchant, 500, "NMB-1")
    assert await _book(database, BookingKind.SETTLEMENT, merchant, 200, "NMB-1")
    assert await _available(database, merchant) == 1_000_300


async def test_the_same_paper_twice_or_ten_times_at_once_books_once(database: Database, merchant: Merchant) -> None:
    booked = await asyncio.gather(*(_book(database, BookingKind.TOP_UP, merchant, 500, "NMB-1") for _ in range(10)))
    assert booked.count(True) == 1
    assert await _available(database, merchant) == 1_000_500


async def test_a_reference_with_another_amount_is_refused(database: Database, merchant: Merchant) -> None:
    await _book(database, BookingKind.TOP_UP, merchant, 500, "NMB-1")
    with pytest.raises(ReferenceReused):
        await _book(database, BookingKind.TOP_UP, merchant, 501, "NMB-1")
    assert await _available(database, merchant) == 1_000_500


async def test_more_than_the_wallet_holds_cannot_be_settled(database: Database, merchant: Merchant) -> None:
    with pytest.raises(WalletTooLow):
        await _book(database, BookingKind.SETTLEMENT, merchant, 1_000_001, "NMB-1")
    assert await _book(database, BookingKind.SETTLEMENT, merchant, 1_000_000, "NMB-1"), (
        "the refused one did not use it up"
    )
    assert await _available(database, merchant) == 0

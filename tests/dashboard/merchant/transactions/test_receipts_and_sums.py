"""The list of transactions, asked as a shop asks: by the receipt in the SMS, by day, and how much that makes."""

import io
from datetime import date, timedelta
from urllib.parse import urlencode

from openpyxl import load_workbook

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


async def test_the_search_finds_the_receipt_however_it_is_typed(shop: TransactionPages) -> None:
    paid = await shop.make(status=Status.COMPLETED, name="Asha", receipt="WQJSVXVO6YXE")
    other = await shop.make(status=Status.COMPLETED, name="Baraka", receipt="MP240101.1234.H12345")
    await shop.make(status=Status.FAILED)
    for typed, found in {
        "WQJSVXVO6YXE": paid,
        "wqjsvxvo6yxe": paid,
        " WQJSVXVO 6YXE ": paid,
        "WQJSVXVO-6YXE.": paid,
        "WQJSVX": paid,
        "wqjsv": paid,
        "WQJSVXVO6YXE Imethibitishwa. Umelipa TZS 25,000.00 kwa Duka. Salio lako ni TZS 310,500.00.": paid,
        "MP240101.1234.H12345": other,
        "mp240101.1234": other,
        "Muamala No: MP240101.1234.H12345. Umelipa TZS 1,000 kwa Duka.": other,
    }.items():
        assert await shop.listed(f"?{urlencode({'search': typed})}") == [found.id], typed
        listed = await shop.surfer.get(f"{PATH}?{urlencode({'search': typed})}")
        assert f"Receipt {'WQJSVXVO6YXE' if found is paid else 'MP240101.1234.H12345'}" in listed.words, typed
    for typed in ("WQJS", "QJSVXVO", "WQJSVXVO6YXF", "WQJSVXVO6YXE7"):
        assert await shop.listed(f"?search={typed}") == [], f"{typed} is no beginning of five characters"
    assert await shop.listed("?search=WQJSV&status=FAILED") == [], "the other filters hold too"
    assert "WQJSVXVO6YXE" not in (await shop.surfer.get(PATH)).words


async def test_the_file_of_a_search_has_what_the_list_has(shop: TransactionPages) -> None:
    paid = await shop.make(status=Status.COMPLETED, receipt="WQJSVXVO6YXE")
    await shop.make(status=Status.COMPLETED)
    lines = (await shop.surfer.get(f"{PATH}.csv?search=wqjsvx")).text.splitlines()
    assert [paid.reference in each for each in lines[1:]] == [True]


async def test_the_workbook_has_the_rows_of_the_list_in_words(shop: TransactionPages) -> None:
    paid = await shop.make(status=Status.COMPLETED, name="Asha", amount=25_000)
    failed = await shop.make(Type.DISBURSEMENT, Status.FAILED, name="Asha Juma")
    await shop.make(name="Baraka")
    async with shop.surfer.http.get(f"{shop.surfer.url}{PATH}.xlsx?search=asha") as answer:
        book = load_workbook(io.BytesIO(await answer.read()))
    assert book.sheetnames == ["Transactions"]
    head, *rows = book["Transactions"].values
    found = [dict(zip(head, each, strict=True)) for each in rows]
    assert [each["Id"] for each in found] == [failed.id, paid.id]
    assert (found[0]["What"], found[0]["Status"], found[0]["Net"]) == ("Payout", "Failed", 0)
    assert found[0]["Why it failed"] == "The customer declined the payment."
    assert (found[1]["Amount"], found[1]["Fee"], found[1]["Net"], found[1]["Status"]) == (
        25_000,
        0,
        25_000,
        "Completed",
    )


async def test_an_amount_is_found_exactly(shop: TransactionPages) -> None:
    one = await shop.make(phone="+255754000123")
    much = await shop.make(amount=25_000, phone="+255754000123", order_reference="INV-1001")
    phone = await shop.make(phone="+255754250009")
    for typed, found in {
        "25,000": [much],
        "TZS 25000": [much],
        "25,000/=": [much],
        "1,000": [phone, one],
        "2,500": [],
        "25000": [phone],  # a part of a phone number; of the amount there is a link beside it
        "24999": [],
        "inv 1001": [much],
        "25 000": [phone],
    }.items():
        assert await shop.listed(f"?{urlencode({'search': typed})}") == [each.id for each in found], typed
    assert f"{PATH}?search=25%2C000" in (await shop.surfer.get(f"{PATH}?search=25000")).text
    assert await shop.listed("?search=25,000&status=FAILED") == []


async def test_a_search_that_finds_nothing_says_what_to_look_for(shop: TransactionPages) -> None:
    await shop.make(name="Asha")
    seen = await shop.surfer.get(f"{PATH}?search=Zawadi&status=FAILED")
    assert "Look for the code at the beginning of the customer's SMS" in seen.words
    assert f'{PATH}?search=Zawadi"' in seen.text
    assert "without the other filters" not in (await shop.surfer.get(f"{PATH}?search=Zawadi")).words


async def test_a_row_has_the_phone_and_why_a_payment_failed(shop: TransactionPages) -> None:
    await shop.make(status=Status.FAILED, name="Asha Juma", phone="+255754000123")
    row = (await shop.surfer.get(PATH)).words
    assert "Asha Juma +255 754 000 123" in row
    assert "Failed The customer declined the payment." in row


async def test_a_filter_says_how_many_it_leaves_and_what_was_completed(shop: TransactionPages) -> None:
    for status in (Status.COMPLETED, Status.COMPLETED, Status.FAILED):
        await shop.make(status=status, name="Asha")
    await shop.make(Type.DISBURSEMENT, Status.COMPLETED, name="Baraka")
    await shop.make(Type.DISBURSEMENT, Status.PENDING, name="Baraka")
    today = (await shop.surfer.get(PATH)).text
    assert "sums-line" not in today, "of everything there is nothing to add up"
    for query, words in {
        "?search=asha": "3 transactions · completed: + TZS 2,000 · not paid: TZS 1,000",
        "?status=COMPLETED": "3 transactions · completed: + TZS 2,000 − TZS 1,000",
        "?status=FAILED": "1 transaction · not paid: TZS 1,000",
        "?status=PENDING": "1 transaction · not ended yet: TZS 1,000",
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
        ("2026-02-16", "2026-02-22"),
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
